"""Observed calls and tests, valid while the code is unchanged."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from remora.code.file_facts import NodeFacts
from remora.code.links import Edge, Related


class ObservedCall(msgspec.Struct, frozen=True, kw_only=True):
    """An observed call, dropped when its caller's `anchor` changes.

    `above_end` holds the lines of the calls, counted up from the caller's last line (0), ascending
    and unique. They stay valid when the caller moves or its docstring changes. The current line
    is `line_start + line_count - 1 - above_end`.
    """

    caller: str
    callee: str
    anchor: str
    above_end: tuple[int, ...]


class ObservedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test that entered a node. It is dropped when the `anchor` of the node `test` changes.

    `id` is the pytest id without parameters, with a path relative to the root.
    """

    node: str
    id: str
    test: str
    anchor: str


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything observed in one run; `tests` replaces earlier records of the ids in `ran`."""

    calls: tuple[ObservedCall, ...]
    tests: tuple[ObservedTest, ...]
    ran: tuple[str, ...]


def anchor_of(node: NodeFacts) -> str:
    """Return the hash of the body, or for a module the hash of the source.

    A module's last line may be after its body.
    """
    return node.source_hash if node.node_type == "module" else node.body_hash


class HasFacts(Protocol):
    @property
    def facts(self) -> NodeFacts:
        """Facts of the node itself."""


class ObservedNodes(Protocol):
    """Current nodes, and everything that was ever observed about them."""

    def node(self, key: str) -> HasFacts | None:
        """Return a node, or None for an unknown key."""

    def calls_to(self, key: str) -> Sequence[ObservedCall]:
        """Return observed calls to the node."""

    def calls_from(self, key: str) -> Sequence[ObservedCall]:
        """Return observed calls by the node."""

    def tests_of(self, key: str) -> Sequence[ObservedTest]:
        """Return observed tests that entered the node."""


def observed_callers(seen: ObservedNodes, key: str) -> tuple[Edge, ...]:
    """Return calls to the node by unchanged callers. The node itself may no longer exist."""
    return _sort_edges(_edge(seen, call, call.caller) for call in seen.calls_to(key))


def observed_callees(seen: ObservedNodes, key: str) -> tuple[Edge, ...]:
    """Return calls by the node if it is unchanged. Callees may no longer exist."""
    return _sort_edges(_edge(seen, call, call.callee) for call in seen.calls_from(key))


def observed_tests(seen: ObservedNodes, key: str) -> tuple[Related, ...]:
    """Return tests that entered the node and are unchanged."""
    tests = seen.tests_of(key)
    still = (test.id for test in tests if _unchanged_node(seen, test.test, test.anchor) is not None)
    return tuple(Related(id=each, tier="observed") for each in sorted(set(still)))


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
