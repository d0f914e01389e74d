"""Observed calls and tests. They are valid as long as the code is unchanged."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from remora.code.file_facts import NodeFacts
from remora.code.links import Edge, Related
from remora.hub.node import ObservedValues


class ObservedCall(msgspec.Struct, frozen=True, kw_only=True):
    """An observed call. It is dropped when the `anchor` of its caller changes.

    `above_end` holds the line offsets of the calls, sorted and without duplicates. They are counted
    upward from the caller's last line, whose offset is 0. The current line number is `line_start +
    line_count - 1 - above_end`. It stays correct when the caller moves or its docstring changes.
    """

    caller: str
    callee: str
    anchor: str
    above_end: tuple[int, ...]


class ObservedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test that entered a node. It is dropped when the `anchor` of the node `test` changes.

    `id` is the pytest id without parameters. Its path is relative to the root.
    """

    node: str
    id: str
    test: str
    anchor: str


class ObservedFunction(msgspec.Struct, frozen=True, kw_only=True):
    """Types of the values that a function was seen to take and return. Dropped when its `anchor` changes."""

    node: str
    anchor: str
    values: ObservedValues


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """All calls, tests and values observed in a run.

    `tests` replaces earlier records of the tests in `ran`.
    """

    calls: tuple[ObservedCall, ...]
    tests: tuple[ObservedTest, ...]
    ran: tuple[str, ...]
    functions: tuple[ObservedFunction, ...] = ()


MAX_TYPES = 8
"""Maximum types of a parameter or result."""


def merge_values(first: ObservedValues, second: ObservedValues) -> ObservedValues:
    """Return the union of two observations of a function, within the limits."""
    names = {**first.parameters, **second.parameters}
    empty: tuple[str, ...] = ()
    return ObservedValues(
        parameters={
            name: _union(first.parameters.get(name, empty), second.parameters.get(name, empty))
            for name in names
        },
        returns=_union(first.returns, second.returns),
        yields=_union(first.yields, second.yields),
    )


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))[:MAX_TYPES]


def anchor_of(node: NodeFacts) -> str:
    """Return the hash of a node's body, or the source hash of a module.

    A module's body hash cannot be used, because the module's last line may be after its body.
    """
    return node.source_hash if node.node_type == "module" else node.body_hash


class HasFacts(Protocol):
    @property
    def facts(self) -> NodeFacts:
        """Facts of the node."""


class ObservedNodes(Protocol):
    """Current nodes, and everything that was ever observed about nodes."""

    def node(self, key: str) -> HasFacts | None:
        """Return a node, or None if the key is unknown."""

    def calls_to(self, key: str) -> Sequence[ObservedCall]:
        """Return the observed calls to a node."""

    def calls_from(self, key: str) -> Sequence[ObservedCall]:
        """Return the observed calls made by a node."""

    def tests_of(self, key: str) -> Sequence[ObservedTest]:
        """Return the observed tests that entered a node."""

    def values_of(self, key: str) -> ObservedFunction | None:
        """Return the observed values of a function, even if they are outdated."""


def observed_callers(seen: ObservedNodes, key: str) -> tuple[Edge, ...]:
    """Return links to the callers of a node. Callers that have changed are left out.

    The node itself may no longer exist.
    """
    return _sort_edges(_edge(seen, call, call.caller) for call in seen.calls_to(key))


def observed_callees(seen: ObservedNodes, key: str) -> tuple[Edge, ...]:
    """Return links to the callees of a node, or an empty tuple if the node has changed.

    Callees may no longer exist.
    """
    return _sort_edges(_edge(seen, call, call.callee) for call in seen.calls_from(key))


def observed_tests(seen: ObservedNodes, key: str) -> tuple[Related, ...]:
    """Return the tests that entered a node. Tests that have changed are left out."""
    tests = seen.tests_of(key)
    still = (test.id for test in tests if _unchanged_node(seen, test.test, test.anchor) is not None)
    return tuple(Related(id=each, tier="observed") for each in sorted(set(still)))


def observed_values(seen: ObservedNodes, key: str) -> ObservedValues | None:
    """Return the values that an unchanged function was seen to take and return, or None."""
    function = seen.values_of(key)
    if function is None or _unchanged_node(seen, key, function.anchor) is None:
        return None
    return function.values


def _edge(seen: ObservedNodes, call: ObservedCall, end: str) -> Edge | None:
    if (caller := _unchanged_node(seen, call.caller, call.anchor)) is None:
        return None
    last = caller.line_start + caller.line_count - 1
    return Edge(key=end, tier="observed", lines=tuple(sorted(last - n for n in call.above_end)))


def _unchanged_node(seen: ObservedNodes, key: str, anchor: str) -> NodeFacts | None:
    node = seen.node(key)
    return node.facts if node is not None and anchor_of(node.facts) == anchor else None


def _sort_edges(edges: Iterable[Edge | None]) -> tuple[Edge, ...]:
    there = (edge for edge in edges if edge is not None)
    return tuple(sorted(there, key=lambda edge: edge.key))
