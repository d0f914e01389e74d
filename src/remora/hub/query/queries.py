"""Queries over a snapshot of the code; NodeStates are assembled here."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from remora.code.callgraph.files.file_cache import FileCache
from remora.code.callgraph.linker import Linker
from remora.code.callgraph.solver import MAX_ANSWERS
from remora.code.links import TIER_RANK, Edge, Related
from remora.code.pytest_model.related_tests import RelatedTests
from remora.hub.lookup.not_found import unknown_node
from remora.hub.node import AnsweredNode, NodeState
from remora.hub.observed_links import observed_callees, observed_callers, observed_tests
from remora.hub.query.snapshots import OutOfTimeError, Snapshot, StoredNode
from remora.ids import split_node_key

OUTSIDE = "ext:"
_KEPT = 512  # answered nodes kept at most: one is 2 KB or more
TESTS_S = 5.0
"""How long the tests of nodes are looked for at most where they are one fact among others: who else
is known to call them is not to be lost for that."""
_OF_TESTS = 0.7
"""Their share of the time that there is for the whole question."""


class _Linking:
    """The linker with its caches."""

    def __init__(self, view: Snapshot, files: FileCache | None, most: int) -> None:
        self._of = (view, files, most)
        self.known = view.links()
        self.renew()

    def renew(self) -> None:
        """Drop the caches: they may be half made."""
        view, files, most = self._of
        self.linker = Linker(view, files, max_answers=most)
        self.related = RelatedTests(self.linker, view, self.known)


class NodeQueries:
    """Answers about one state of the code; links are kept, so ask one as long as it holds.

    `fresh` goes into every answer. `partial_links`: the view does not hold the whole project, so
    links and tests are not computed (null). `files` and `most` are the linker's.
    """

    def __init__(
        self,
        view: Snapshot,
        *,
        fresh: bool = True,
        partial_links: bool = False,
        files: FileCache | None = None,
        most: int = MAX_ANSWERS,
    ) -> None:
        self.view = view
        self.generation = view.generation
        """Of the state: what is stored later may be in some answers, but need not."""
        self.fresh = fresh
        self.partial_links = partial_links
        self._linking = _Linking(view, files, most)
        self._tests_until: float | None = None
        """Until when tests are looked for; None: for this question there is no time left."""
        self._kept: dict[str, NodeState] = {}

    def with_freshness(self, *, fresh: bool) -> "NodeQueries":
        """Return the same queries with another `fresh`; both share what was computed so far."""
        if fresh == self.fresh:
            return self
        other = NodeQueries.__new__(NodeQueries)
        other.__dict__.update(self.__dict__, fresh=fresh)
        return other

    def context(self, keys: Sequence[str]) -> dict[str, AnsweredNode]:
        """By key, in the order asked; unknown ones are left out. Tests that cannot be found in
        time are null."""
        self._begin()
        states = ((key, self._state(key)) for key in keys)
        return {
            key: AnsweredNode(**msgspec.structs.asdict(state), fresh=self.fresh)
            for key, state in states
            if state is not None
        }

    def node(self, key: str) -> NodeState:
        """As `context` has it. Raises NotFound, which names the nearest."""
        self._begin()
        state = self._state(key)
        if state is None:
            raise unknown_node(key, self.view.keys())
        return state

    def callers(self, key: str, depth: int = 1) -> dict[str, Any]:
        """Who calls the node, in `depth` steps; the nearest first, of these the surest tier.

        Raises NotFound, as `callees` and `tests` do.
        """
        return self._answer(key, "callers", lambda: _reached(self._callers, key, depth))

    def callees(self, key: str, depth: int = 1) -> dict[str, Any]:
        """What the node calls, in `depth` steps; what lies outside the project is not followed."""
        return self._answer(key, "callees", lambda: _reached(self._callees, key, depth))

    def tests(self, key: str, depth: int = 1) -> dict[str, Any]:
        """The tests of the node and of its callers in up to `depth` - 1 steps."""
        return self._answer(key, "tests", lambda: self._tests_within(key, depth))

    def known(self, key: str) -> bool:
        """True if callers and callees are stored and only need reading."""
        known = self._linking.known
        return known is not None and known.callees(key) is not None

    def search(self, query: str, limit: int = 50) -> dict[str, Any]:
        """The nodes that fit `query`, at most `limit`."""
        found = (stored.facts for stored in self.view.search(query, limit))
        nodes = [
            {"key": facts.key, "node_type": facts.node_type, "signature": facts.signature}
            for facts in found
        ]
        return {"query": query, "nodes": nodes}

    def _answer(
        self, key: str, name: str, links: Callable[[], Iterable[Edge | Related]]
    ) -> dict[str, Any]:
        if self.view.node(key) is None:
            raise unknown_node(key, self.view.keys())
        found = None if self.partial_links else [_plain(link) for link in links()]
        return {
            "node": key,
            name: found,
            "fresh": self.fresh and found is not None,
            "generation": self.generation,
        }

    def _begin(self) -> None:
        now = time.monotonic()
        self._tests_until = now + min(TESTS_S, _OF_TESTS * max(0.0, self.view.deadline - now))

    def _state(self, key: str) -> NodeState | None:
        state = self._kept.get(key)
        if state is None:
            stored = self.view.node(key)
            if stored is None:
                return None
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            state = self._put_together(key, stored)
            if self.partial_links or state.related_tests is not None:
                self._kept[key] = state
        return state

    def _put_together(self, key: str, stored: StoredNode) -> NodeState:
        facts = msgspec.structs.asdict(stored.facts)
        del facts["qualname"]
        linked = not self.partial_links
        return NodeState(
            **facts,
            uid=stored.uid,
            file_path=split_node_key(key)[0],
            file_hash=stored.file_hash,
            callers=self._callers(key) if linked else None,
            callees=self._callees(key) if linked else None,
            related_tests=self._tests_in_time(key) if linked else None,
            partial=stored.partial,
            last_updated=stored.last_updated,
            update_source=stored.update_source,
            extra=stored.extra,
        )

    def _callers(self, key: str) -> tuple[Edge, ...]:
        observed = observed_callers(self.view, key)
        known = None if self._linking.known is None else self._linking.known.callers(key)
        static = self._linking.linker.callers(key) if known is None else known
        return _with_observed(static, self._standing(observed))

    def _callees(self, key: str) -> tuple[Edge, ...]:
        observed = observed_callees(self.view, key)
        known = None if self._linking.known is None else self._linking.known.callees(key)
        static = self._linking.linker.callees(key) if known is None else known
        return _with_observed(static, self._standing(observed))

    def _standing(self, observed: Iterable[Edge]) -> Iterator[Edge]:
        """Return the observed links whose nodes still exist."""
        return (
            edge
            for edge in observed
            if edge.key.startswith(OUTSIDE) or self.view.node(edge.key) is not None
        )

    def _tests_in_time(self, key: str) -> tuple[Related, ...] | None:
        """None where it would take too long to find them, and for every node after that one."""
        if self._tests_until is None:
            return None
        try:
            with _hurried(self.view, self._tests_until):
                return self._tests(key)
        except OutOfTimeError:
            self._linking.renew()
            self._tests_until = None
            return None

    def _tests(self, key: str) -> tuple[Related, ...]:
        return _surest((*self._linking.related.of(key), *observed_tests(self.view, key)))

    def _tests_within(self, key: str, depth: int) -> tuple[Related, ...]:
        callers = _reached(self._callers, key, depth - 1) if depth > 1 else ()
        around = dict.fromkeys((key, *(edge.key for edge in callers)))
        return _surest(test for node in around for test in self._tests(node))


@contextmanager
def _hurried(view: Snapshot, until: float) -> Iterator[None]:
    """The view with a nearer deadline."""
    before = view.deadline
    view.deadline = min(before, until)
    try:
        yield
    finally:
        view.deadline = before


def _plain(link: Edge | Related) -> dict[str, Any]:
    """As JSON has it."""
    if isinstance(link, Related):
        return {"id": link.id, "tier": link.tier}
    return {"key": link.key, "tier": link.tier, "lines": list(link.lines)}


def _with_observed(static: tuple[Edge, ...], observed: Iterable[Edge]) -> tuple[Edge, ...]:
    """A link that the source shows keeps its tier and lines, whatever was seen as well."""
    known = {edge.key for edge in static}
    more = [edge for edge in observed if edge.key not in known]
    if not more:
        return static
    return tuple(sorted((*static, *more), key=lambda edge: (TIER_RANK[edge.tier], edge.key)))


def _surest(tests: Iterable[Related]) -> tuple[Related, ...]:
    """Each test once, by its surest tier; the surest first, else as they came."""
    best: dict[str, Related] = {}
    for test in tests:
        known = best.get(test.id)
        if known is None or TIER_RANK[test.tier] < TIER_RANK[known.tier]:
            best[test.id] = test
    return tuple(sorted(best.values(), key=lambda test: TIER_RANK[test.tier]))


def _reached(links: Callable[[str], tuple[Edge, ...]], start: str, depth: int) -> list[Edge]:
    """All nodes within `depth` steps, each by the link that reached it first; `start` too where a
    cycle leads back to it."""
    reached: dict[str, Edge] = {}
    asked = {start}
    level = [start]
    for _ in range(depth):
        found: dict[str, Edge] = {}
        for edge in (edge for key in level for edge in links(key)):
            known = found.get(edge.key)
            if edge.key not in reached and (known is None or _better(edge, known)):
                found[edge.key] = edge
        ordered = sorted(found.values(), key=lambda edge: (TIER_RANK[edge.tier], edge.key))
        reached.update((edge.key, edge) for edge in ordered)
        level = [edge.key for edge in ordered if edge.key not in asked and _inside(edge.key)]
        asked.update(level)
        if not level:
            break
    return list(reached.values())


def _better(edge: Edge, than: Edge) -> bool:
    return TIER_RANK[edge.tier] < TIER_RANK[than.tier]


def _inside(key: str) -> bool:
    return not key.startswith(OUTSIDE)
