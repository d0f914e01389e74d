"""Observed calls and tests, and which of them still hold for the current code."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from remora.code.file_facts import NodeFacts
from remora.code.links import Edge, Related


class ObservedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One node was seen to call another.

    `anchor` is the caller's (see `anchor_of`); the call is forgotten when it changes. `above_end`:
    the lines of the calls, as lines above the caller's last one (0: on it), ascending, each once:
    so they hold when the caller moves, or gets another docstring. The line of such a call now is
    `line_start + line_count - 1 - above_end`.
    """

    caller: str
    callee: str
    anchor: str
    above_end: tuple[int, ...]


class ObservedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test entered a node.

    `id` is pytest's without parameters, its path relative to the root; `test` is the node of the
    test's own function, and `anchor` that node's: forgotten when it changes.
    """

    node: str
    id: str
    test: str
    anchor: str


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run showed. `ran`: ids of the tests that ran to their end: what was known of
    these is replaced by `tests`. Calls are added to the known ones."""

    calls: tuple[ObservedCall, ...]
    tests: tuple[ObservedTest, ...]
    ran: tuple[str, ...]


def anchor_of(node: NodeFacts) -> str:
    """The hash with which what was seen of a node stays true: its body's; of a module, whose last
    line may follow its body, the whole file's."""
    return node.source_hash if node.node_type == "module" else node.body_hash


class HasFacts(Protocol):
    """A node that a view gives."""

    @property
    def facts(self) -> NodeFacts:
        """Its own."""


class Seen(Protocol):
    """Whoever knows the nodes as they are now, and all that was ever seen of them."""

    def node(self, key: str) -> HasFacts | None:
        """Return a node; None for an unknown key."""

    def calls_to(self, key: str) -> Sequence[ObservedCall]:
        """Calls to the node."""

    def calls_from(self, key: str) -> Sequence[ObservedCall]:
        """Calls by the node."""

    def tests_of(self, key: str) -> Sequence[ObservedTest]:
        """Tests that entered the node."""


def observed_callers(seen: Seen, key: str) -> tuple[Edge, ...]:
    """Who was seen to call the node and is what it was; the callee may be gone since."""
    return _sorted(_edge(seen, call, call.caller) for call in seen.calls_to(key))


def observed_callees(seen: Seen, key: str) -> tuple[Edge, ...]:
    """What the node was seen to call, if it is what it was; the callees may be gone since."""
    return _sorted(_edge(seen, call, call.callee) for call in seen.calls_from(key))


def observed_tests(seen: Seen, key: str) -> tuple[Related, ...]:
    """Which tests were seen to enter the node and are what they were."""
    tests = seen.tests_of(key)
    still = (test.id for test in tests if _still(seen, test.test, test.anchor) is not None)
    return tuple(Related(id=each, tier="observed") for each in sorted(set(still)))


def _edge(seen: Seen, call: ObservedCall, end: str) -> Edge | None:
    caller = _still(seen, call.caller, call.anchor)
    if caller is None:
        return None
    last = caller.line_start + caller.line_count - 1
    return Edge(
        key=end, tier="observed", lines=tuple(sorted(last - above for above in call.above_end))
    )


def _still(seen: Seen, key: str, anchor: str) -> NodeFacts | None:
    node = seen.node(key)
    return node.facts if node is not None and anchor_of(node.facts) == anchor else None


def _sorted(edges: Iterable[Edge | None]) -> tuple[Edge, ...]:
    there = (edge for edge in edges if edge is not None)
    return tuple(sorted(there, key=lambda edge: edge.key))
