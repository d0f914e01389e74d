"""Request handling. Results come from a snapshot of the code or from the daemon's state."""

from collections.abc import Callable, Collection
from typing import Any, Protocol

from remora.errors import NotFound
from remora.hub.node import NodeState
from remora.hub.protocol import (
    MAX_FOUND,
    PROTOCOL,
    Callees,
    Callers,
    ChangedSince,
    GetContext,
    GetNode,
    Health,
    Invalidate,
    Request,
    Search,
    Status,
    Subscribe,
    Tests,
)
from remora.hub.query.queries import NodeQueries, has_all_tests


class DaemonControl(Protocol):
    """State of the daemon, which is used for requests that are not about nodes."""

    def status(self) -> Any:
        """Return the status that `hub status` prints."""

    def changed_since(self, generation: int) -> Any:
        """Return the nodes that changed after a generation."""

    def invalidate(self, path: str) -> None:
        """Schedule a new read of a file, or a sweep if `path` is a folder."""


_NODES: dict[type, Callable[[NodeQueries, Any], Any]] = {
    GetContext: lambda answers, asked: answers.context(asked.nodes),
    GetNode: lambda answers, asked: answers.node(asked.node),
    Callers: lambda answers, asked: answers.callers(asked.node, asked.depth),
    Callees: lambda answers, asked: answers.callees(asked.node, asked.depth),
    Tests: lambda answers, asked: answers.tests(asked.node, asked.depth),
    Search: lambda answers, asked: answers.search(asked.query, min(asked.limit, MAX_FOUND)),
}
_CONTROL: dict[type, Callable[[DaemonControl, Any], Any]] = {
    Health: lambda _control, _asked: {"status": "ok", "protocol": PROTOCOL},
    Status: lambda control, _asked: control.status(),
    Subscribe: lambda _control, _asked: None,
    Invalidate: lambda control, asked: control.invalidate(asked.path),
    ChangedSince: lambda control, asked: control.changed_since(asked.generation),
}
_AT_ONCE = frozenset({Health, Status, Subscribe, Invalidate})


def handle(request: Request, over: NodeQueries | DaemonControl, *, suggest: bool = True) -> Any:
    """Return the result of a request.

    Raises NotFound if the node does not exist. With `suggest`, the error includes similar names,
    which takes longer.
    """
    kind = type(request)
    if not isinstance(over, NodeQueries):
        return _CONTROL[kind](over, request)
    if not suggest and kind is not GetContext:  # which leaves out unknown nodes
        _check_known(nodes_of(request), over)
    return _NODES[kind](over, request)


def is_immediate(request: Request) -> bool:
    """Return True if the answer does not depend on the files."""
    return type(request) in _AT_ONCE


def is_whole(result: Any) -> bool:
    """Return True if the result is complete, so that more time would not improve it."""
    if isinstance(result, dict) and result.get("complete") is False:
        return False
    states = result.values() if isinstance(result, dict) else (result,)
    return all(has_all_tests(state) for state in states if isinstance(state, NodeState))


def nodes_of(request: Request) -> tuple[str, ...]:
    """Return the node keys in a request. A request about the whole project has none."""
    if isinstance(request, GetContext):
        return request.nodes
    return (request.node,) if isinstance(request, GetNode | Callers | Callees | Tests) else ()


def _check_known(keys: Collection[str], answers: NodeQueries) -> None:
    for key in keys:
        if answers.view.node(key) is None:
            name = key.removeprefix("node:")[:200]
            raise NotFound(f"there is no node {name}; `search` finds nodes by name")
