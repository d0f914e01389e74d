"""Results of the requests about nodes."""

from collections.abc import Callable
from typing import Any

from remora.errors import NotFound
from remora.hub.node import NodeState
from remora.hub.protocol import (
    MAX_FOUND,
    Callees,
    Callers,
    GetContext,
    GetNode,
    Request,
    Search,
    Tests,
)
from remora.hub.query.node_queries import NodeQueries, has_all_tests

_NODES: dict[type, Callable[[NodeQueries, Any], Any]] = {
    GetContext: lambda answers, asked: answers.context(asked.nodes, links=asked.links),
    GetNode: lambda answers, asked: answers.node(asked.node),
    Callers: lambda answers, asked: answers.callers(asked.node, asked.depth),
    Callees: lambda answers, asked: answers.callees(asked.node, asked.depth),
    Tests: lambda answers, asked: answers.tests(asked.node, asked.depth),
    Search: lambda answers, asked: answers.search(asked.query, min(asked.limit, MAX_FOUND)),
}


def handle(request: Request, over: NodeQueries, *, suggest: bool = True) -> Any:
    """Return the result of a request about nodes.

    Raises NotFound if the node does not exist. With `suggest`, the error includes similar names,
    which takes longer.
    """
    kind = type(request)
    if not suggest and kind is not GetContext:  # which leaves out unknown nodes
        for key in nodes_of(request):
            if over.view.node(key) is None:
                name = key.removeprefix("node:")[:200]
                raise NotFound(f"there is no node {name}; `search` finds nodes by name")
    return _NODES[kind](over, request)


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
