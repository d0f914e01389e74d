"""What was seen while tests ran, as far as the code is still what ran."""

from collections.abc import Iterable
from typing import Protocol

from remora.code.edges import Edge, Related
from remora.code.facts import NodeFacts
from remora.hub.observed import ObservedCall, ObservedTest, anchor_of


class HasFacts(Protocol):
    """A node that a view gives."""

    @property
    def facts(self) -> NodeFacts:
        """Its own."""


class Nodes(Protocol):
    """Whoever knows the nodes as they are now."""

    def node(self, key: str) -> HasFacts | None:
        """None for an unknown one."""


def callers(nodes: Nodes, calls: Iterable[ObservedCall]) -> tuple[Edge, ...]:
    """The links to the callers of these calls, whose callee is one node."""
    return _sorted(_edge(nodes, call, call.caller) for call in calls)


def callees(nodes: Nodes, calls: Iterable[ObservedCall]) -> tuple[Edge, ...]:
    """The links to what was called, of calls by one node."""
    return _sorted(_edge(nodes, call, call.callee) for call in calls)


def tests(nodes: Nodes, seen: Iterable[ObservedTest]) -> tuple[Related, ...]:
    """The tests that entered one node."""
    still = (test.id for test in seen if _still(nodes, test.test, test.anchor) is not None)
    return tuple(Related(id=each, tier="observed") for each in sorted(set(still)))


def _edge(nodes: Nodes, call: ObservedCall, end: str) -> Edge | None:
    caller = _still(nodes, call.caller, call.anchor)
    if caller is None:
        return None
    last = caller.line_start + caller.line_count - 1
    return Edge(
        key=end, tier="observed", lines=tuple(sorted(last - above for above in call.above_end))
    )


def _still(nodes: Nodes, key: str, anchor: str) -> NodeFacts | None:
    node = nodes.node(key)
    return node.facts if node is not None and anchor_of(node.facts) == anchor else None


def _sorted(edges: Iterable[Edge | None]) -> tuple[Edge, ...]:
    there = (edge for edge in edges if edge is not None)
    return tuple(sorted(there, key=lambda edge: edge.key))
