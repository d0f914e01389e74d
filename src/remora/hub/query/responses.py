"""What the protocol answers to questions about nodes, whoever is asked."""

from collections.abc import Callable
from typing import Any

from remora.hub.node import NodeState
from remora.hub.protocol import (
    MOST_FOUND,
    Callees,
    Callers,
    GetContext,
    GetNode,
    Request,
    Search,
    Tests,
)
from remora.hub.query.queries import Answers

_RESULTS: dict[type, Callable[[Answers, Any], Any]] = {
    GetContext: lambda answers, asked: answers.context(asked.nodes),
    GetNode: lambda answers, asked: answers.node(asked.node),
    Callers: lambda answers, asked: answers.callers(asked.node, asked.depth),
    Callees: lambda answers, asked: answers.callees(asked.node, asked.depth),
    Tests: lambda answers, asked: answers.tests(asked.node, asked.depth),
    Search: lambda answers, asked: answers.search(asked.query, min(asked.limit, MOST_FOUND)),
}


def result_of(answers: Answers, request: Request) -> Any:
    """The result of a request about nodes. Raises NotFound for an unknown one."""
    return _RESULTS[type(request)](answers, request)


def is_whole(result: Any) -> bool:
    """Whether nothing in a result is left out that more time would have told."""
    states = result.values() if isinstance(result, dict) else (result,)
    return all(state.related_tests is not None for state in states if isinstance(state, NodeState))


def nodes_of(request: Request) -> tuple[str, ...]:
    """The keys that a request names; none where it asks about the whole project."""
    if isinstance(request, GetContext):
        return request.nodes
    return (request.node,) if isinstance(request, GetNode | Callers | Callees | Tests) else ()
