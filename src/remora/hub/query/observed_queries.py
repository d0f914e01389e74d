"""Observed links and values of the nodes of a snapshot, as far as they are still valid."""

from collections.abc import Iterable

from remora.code.file_facts import NodeFacts
from remora.code.links import Edge, Related
from remora.hub.node import ObservedValues
from remora.hub.observed_links import ObservedCall, anchor_of
from remora.hub.query.snapshots import Snapshot


def observed_callers(view: Snapshot, key: str) -> tuple[Edge, ...]:
    """Return links to the callers of a node. Callers that have changed are left out.

    The node itself may no longer exist.
    """
    return _sort_edges(_edge(view, call, call.caller) for call in view.calls_to(key))


def observed_callees(view: Snapshot, key: str) -> tuple[Edge, ...]:
    """Return links to the callees of a node, or an empty tuple if the node has changed.

    Callees may no longer exist.
    """
    return _sort_edges(_edge(view, call, call.callee) for call in view.calls_from(key))


def observed_tests(view: Snapshot, key: str) -> tuple[Related, ...]:
    """Return the tests that entered a node. Tests that have changed are left out."""
    tests = view.tests_of(key)
    still = (test.id for test in tests if _unchanged_node(view, test.test, test.anchor) is not None)
    return tuple(Related(id=test, tier="observed") for test in sorted(set(still)))


def observed_values(view: Snapshot, key: str) -> ObservedValues | None:
    """Return the values that an unchanged function was seen to take and return, or None."""
    function = view.values_of(key)
    if function is None or _unchanged_node(view, key, function.anchor) is None:
        return None
    return function.values


def _edge(view: Snapshot, call: ObservedCall, end: str) -> Edge | None:
    if (caller := _unchanged_node(view, call.caller, call.anchor)) is None:
        return None
    last = caller.line_start + caller.line_count - 1
    return Edge(key=end, tier="observed", lines=tuple(sorted(last - n for n in call.above_end)))


def _unchanged_node(view: Snapshot, key: str, anchor: str) -> NodeFacts | None:
    node = view.node(key)
    return node.facts if node is not None and anchor_of(node.facts) == anchor else None


def _sort_edges(edges: Iterable[Edge | None]) -> tuple[Edge, ...]:
    there = (edge for edge in edges if edge is not None)
    return tuple(sorted(there, key=lambda edge: edge.key))
