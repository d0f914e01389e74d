"""Queries on a snapshot of the code, and assembly of NodeStates."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from remora.code.callgraph.files.file_cache import FileCache
from remora.code.callgraph.files.program_protocol import OutOfTimeError
from remora.code.callgraph.linker import Linker
from remora.code.callgraph.solver import MAX_ANSWERS
from remora.code.file_facts import PARTLY_READ
from remora.code.links import TIER_RANK, Edge, Kind, Related
from remora.code.pytest_model.pytest_settings import (
    SETTINGS_FILES,
    PytestSettings,
    pytest_settings,
)
from remora.code.pytest_model.related_tests import RelatedTests
from remora.hub.lookup.not_found import unknown_node
from remora.hub.node import AnsweredNode, NodeState
from remora.hub.query.snapshots import Snapshot
from remora.ids import MODULE, STUB, module_path, node_key, split_node_key, unescape_path
from remora.regular_file import read_regular

OUTSIDE = "ext:"
_REFERENCES = ("constant", "reference")
_MAX_CACHED = 512  # maximum cached nodes, of 2 KB or more each
TESTS_S = 5.0
"""Seconds after which a request for several nodes starts no further search for tests."""
SEARCH_S = 3.0
"""Maximum seconds of a search for the tests of one node, which then returns what it has found."""
AT_ONCE_S = 0.25
"""The same for the daemon. By then 50 of 80 nodes of Django have all their tests, and three quarters
of the first 20 tests are those of a search without a limit, whose p95 is 4 s of CPU time."""
_MAX_SETTINGS = 1024 * 1024  # bytes of a file with settings
_PACKAGE_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_ENTRY_POINT = re.compile(r"([\w.-]+)[\"']?\s*=\s*[\"']?([^\W\d][\w.]*:[^\W\d][\w.]*)")
"""Name and object of an entry point: `shop = "shop.cli:main"`, or `"shop=shop.cli:main"`."""
_TESTS_SHARE = 0.7  # the tests' share of the time for the whole request


class NodeQueries:
    """Queries on one state of the code, with cached links.

    `fresh` is included in every answer. `root` is the folder with pytest's settings. If
    `partial_links` is True, links and tests are null. `search_s` limits each search for tests.
    """

    def __init__(
        self,
        view: Snapshot,
        *,
        root: Path | None = None,
        partial_links: bool = False,
        files: FileCache | None = None,
        most: int = MAX_ANSWERS,
        search_s: float = SEARCH_S,
    ) -> None:
        self.view = view
        self._search_s = search_s
        self.generation = view.generation
        """Generation of the state. Newer changes may or may not be included."""
        self.fresh = True
        self.partial_links = partial_links
        linker = Linker(view, files, max_answers=most)
        settings = PytestSettings if root is None else partial(_pytest_settings, root)
        self._root = root
        self._linker = linker
        self._related = RelatedTests(linker, view, view.links(), settings)
        self._links = self._related.links
        self._tests_until: float | None = None
        """Time limit for finding tests, or None if this request has no time left."""
        self._cache: dict[str, NodeState] = {}

    def with_freshness(self, *, fresh: bool) -> "NodeQueries":
        """Return a copy of these queries with a different `fresh`. The caches are shared."""
        if fresh == self.fresh:
            return self
        other = NodeQueries.__new__(NodeQueries)
        other.__dict__.update(self.__dict__, fresh=fresh)
        return other

    def context(self, keys: Sequence[str], *, links: bool = True) -> dict[str, AnsweredNode]:
        """Return known nodes by key, in the order of `keys`.

        Links that are not found in time are null: callers and callees are searched for all nodes
        before tests. `tests_complete` is False if only some tests were found. Without `links`,
        callers, callees and tests may be null, too.
        """
        self._begin()
        found = {key: state for key in keys if (state := self._without_links(key)) is not None}
        if links and not self.partial_links:
            with suppress(OutOfTimeError):
                for add in (self._with_callers, self._with_callees, self._with_tests):
                    for key, state in found.items():
                        found[key] = self._cache_state(add(state))
        return {
            key: AnsweredNode(**msgspec.structs.asdict(state), fresh=self.fresh)
            for key, state in found.items()
        }

    def node(self, key: str) -> NodeState:
        """Return a node. The time to find its tests is limited, as in `context`.

        Raises NotFound with similar names if the node does not exist.
        """
        self._begin()
        if (state := self._without_links(key)) is None:
            raise unknown_node(key, self.view.keys())
        if not self.partial_links:
            state = self._cache_state(self._with_callees(self._with_callers(state)))
            state = self._cache_state(self._with_tests(state))
        return state

    def callers(self, key: str, depth: int = 1) -> dict[str, Any]:
        """Return callers within `depth` steps, sorted by distance and then by tier.

        `references` has the direct references.

        Raises NotFound if the node does not exist.
        """
        start = self._linked(key)
        answer = self._answer(key, "callers", lambda: _reachable(self._users, start, depth))
        return {**answer, **self._answer(key, "references", lambda: self._references(start))}

    def callees(self, key: str, depth: int = 1) -> dict[str, Any]:
        """Return callees within `depth` steps. Code outside the project is not followed.

        Raises NotFound if the node does not exist.
        """
        start = self._linked(key)
        return self._answer(key, "callees", lambda: _reachable(self._links.callees, start, depth))

    def tests(self, key: str, depth: int = 1, seconds: float | None = None) -> dict[str, Any]:
        """Return the tests of the node, and of its callers within `depth` - 1 steps.

        If finding all of them takes longer than `seconds` (default: the limit of these queries), the
        result contains the tests found so far, and `"complete": False`. Raises NotFound if the node
        does not exist.
        """
        limit = self._search_s if seconds is None else seconds
        until = time.monotonic() + min(limit, self._share_of_time())
        complete, start = True, self._linked(key)

        def find() -> Iterable[Related]:
            nonlocal complete
            callers = _reachable(self._links.callers, start, depth - 1) if depth > 1 else ()
            found, complete = self._tests([start, *(edge.key for edge in callers)], until)
            return found

        answer = self._answer(key, "tests", find)
        return answer if complete else {**answer, "complete": False}

    def search(self, query: str, limit: int) -> dict[str, Any]:
        """Return at most `limit` nodes that match `query`."""
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
        found = None if self.partial_links else msgspec.json.decode(msgspec.json.encode([*links()]))
        answer = {
            "node": key,
            name: found,
            "fresh": self.fresh and found is not None,
            "generation": self.generation,
        }
        unread = self._unread(key) if name in ("callers", "tests") else ()
        return {**answer, "incomplete": unread} if unread else answer

    def _unread(self, key: str) -> list[str]:
        """Return the files that were not read completely, and have or may have a node's name."""
        name = split_node_key(key)[1].rpartition(".")[2].partition("#")[0]
        partly = self.view.mentioning(PARTLY_READ)
        named = set(self.view.mentioning(name)) if partly else set()
        return [path for path in partly if path in named or not self.view.nodes(path)]

    def _linked(self, key: str) -> str:
        """Return the key of the node whose links are those of a node.

        For a node of a stub, it is the node of the module that it describes, if there is one, or
        else the last of its overloads. All overloads describe one function.
        """
        path, qualname = split_node_key(key)
        if not path.endswith(STUB):
            return key
        name = qualname.partition("#")[0]
        described = (node_key(module_path(path), other) for other in (qualname, name))
        same = (
            node.facts.key
            for node in self.view.nodes(path)
            if node.facts.qualname.partition("#")[0] == name
        )
        return next(
            (other for other in described if self.view.node(other) is not None), [key, *same][-1]
        )

    def _begin(self) -> None:
        self._tests_until = time.monotonic() + min(TESTS_S, self._share_of_time())

    def _share_of_time(self) -> float:
        """Return the seconds of this request that may be spent on tests."""
        return _TESTS_SHARE * max(0.0, self.view.deadline - time.monotonic())

    def _without_links(self, key: str) -> NodeState | None:
        """Return a node with the links that are cached, or None if it is unknown."""
        if (state := self._cache.get(key)) is not None or (stored := self.view.node(key)) is None:
            return state
        facts = msgspec.structs.asdict(stored.facts)
        del facts["qualname"]
        return NodeState(
            **facts,
            file_path=split_node_key(key)[0],
            file_hash=stored.file_hash,
            callers=None,
            references=None,
            callees=None,
            related_tests=None,
            partial=stored.partial,
            last_updated=stored.last_updated,
            update_source=stored.update_source,
        )

    def _with_callers(self, state: NodeState) -> NodeState:
        key = self._linked(state.key)
        return msgspec.structs.replace(
            state,
            callers=self._users(key),
            references=self._references(key),
            incomplete=tuple(self._unread(key)),
        )

    def _users(self, key: str) -> tuple[Edge, ...]:
        """Return the callers of a node, and what uses it in other ways than by a reference."""
        uses = [edge for edge in self._links.uses(key) if edge.kind not in _REFERENCES]
        passing = {(edge.key, line) for edge in uses for line in edge.lines}
        calls = self._links.callers(key)
        direct = (edge for edge in calls if {(edge.key, line) for line in edge.lines} - passing)
        return (*direct, *uses)

    def _references(self, key: str) -> tuple[Edge, ...]:
        """Return the references to a node. Those to a module are its imports.

        Entry points of the project refer to it, too.
        """
        is_module = split_node_key(key)[1] == MODULE
        kinds = _REFERENCES if is_module else ("reference",)
        uses = [edge for edge in self._links.uses(key) if edge.kind in kinds]
        imports = self._links.importers(key) if is_module else ()
        named = (msgspec.structs.replace(edge, kind="reference") for edge in (*uses, *imports))
        return (*named, *self._entry_points(key))

    def _entry_points(self, key: str) -> Iterator[Edge]:
        """Yield what names a node in the package files of its folder and of those around it."""
        parts = split_node_key(key)[0].split("/")[:-1]
        folders = ("".join(f"{part}/" for part in parts[:end]) for end in range(len(parts) + 1))
        for path in (folder + name for folder in folders for name in _PACKAGE_FILES):
            text = "" if self._root is None else _read_settings(self._root, unescape_path(path))
            for at, line in enumerate(text.splitlines(), 1):
                for name, target in _ENTRY_POINT.findall(line.partition("#")[0]):
                    if self._linker.resolve_export(target, path) == key:
                        where = f"{path}:{name}"
                        yield Edge(key=where, tier="exact", lines=(at,), kind="reference")

    def _with_callees(self, state: NodeState) -> NodeState:
        return msgspec.structs.replace(state, callees=self._links.callees(self._linked(state.key)))

    def _with_tests(self, state: NodeState) -> NodeState:
        if has_all_tests(state):
            return state
        tests, complete = self._tests_in_time(self._linked(state.key))
        if tests is None:
            return state
        return msgspec.structs.replace(state, related_tests=tests, tests_complete=complete)

    def _cache_state(self, state: NodeState) -> NodeState:
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[state.key] = state
        return state

    def _tests_in_time(self, key: str) -> tuple[tuple[Related, ...] | None, bool]:
        """Return the tests of a node that are found in time, and whether they are all.

        The tests are None if none are found in time, and for all remaining nodes of the request.
        """
        now = time.monotonic()
        if self._tests_until is None or now > self._tests_until:
            return None, True
        tests, complete = self._tests([key], min(now + self._search_s, self._tests_until))
        if complete:
            return tests, True
        self._tests_until = None
        return (tests, False) if tests else (None, True)

    def _tests(self, keys: Iterable[str], until: float) -> tuple[tuple[Related, ...], bool]:
        """Return the tests of some nodes that are found in time, and whether they are all."""
        with _with_deadline(self.view, until):
            found = [self._related.search(key) for key in dict.fromkeys(keys)]
        tests = _merged(test for result in found for test in result.tests)
        return tests, all(result.complete for result in found)


def has_all_tests(state: NodeState) -> bool:
    """Return True if all tests of a node are known."""
    return state.related_tests is not None and state.tests_complete


def _pytest_settings(root: Path) -> PytestSettings:
    return pytest_settings(tuple(_read_settings(root, name) for name in SETTINGS_FILES))


def _read_settings(root: Path, name: str) -> str:
    with suppress(OSError):
        return read_regular(root / name, _MAX_SETTINGS).decode("utf-8-sig", "replace")
    return ""


@contextmanager
def _with_deadline(view: Snapshot, until: float) -> Iterator[None]:
    """Limit the view's deadline to `until` within the block."""
    before = view.deadline
    view.deadline = min(before, until)
    try:
        yield
    finally:
        view.deadline = before


def _merged(tests: Iterable[Related]) -> tuple[Related, ...]:
    """Return each test once, with its best tier. Tests that are `possible` come last."""
    best: dict[str, Related] = {}
    for test in tests:
        known = best.get(test.id)
        if known is None or TIER_RANK[test.tier] < TIER_RANK[known.tier]:
            best[test.id] = test
    return tuple(sorted(best.values(), key=lambda test: test.tier == "possible"))


def _reachable(links: Callable[[str], tuple[Edge, ...]], start: str, depth: int) -> list[Edge]:
    """Return the first link to each node that is within `depth` steps of `start`.

    The result may include a link back to `start`.
    """
    reached: dict[tuple[str, Kind], Edge] = {}
    visited = {start}
    level = [start]
    for _ in range(depth):
        found: dict[tuple[str, Kind], Edge] = {}
        for edge in (edge for key in level for edge in links(key)):
            place = (edge.key, edge.kind)
            known = found.get(place)
            if place not in reached and (
                known is None or TIER_RANK[edge.tier] < TIER_RANK[known.tier]
            ):
                found[place] = edge
        ordered = sorted(found.values(), key=lambda edge: (TIER_RANK[edge.tier], edge.key))
        reached.update(((edge.key, edge.kind), edge) for edge in ordered)
        inside = (edge.key for edge in ordered if not edge.key.startswith(OUTSIDE))
        level = [key for key in inside if key not in visited]
        visited.update(level)
        if not level:
            break
    return list(reached.values())
