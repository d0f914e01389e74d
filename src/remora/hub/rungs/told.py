"""What a rung says: the protocol's result, where it came from, and how long it may take."""

from collections.abc import Callable
from time import monotonic
from typing import Any, Literal, NamedTuple

from remora.hub.answers import Answers
from remora.hub.protocol import Callees, Callers, GetContext, GetNode, Request, Search, Tests

RungName = Literal["socket", "sqlite", "file"]


class Told(NamedTuple):
    """A result: of `get_context` a dict of AnsweredNode, of `get_node` a NodeState, of the others
    what the protocol says. `generation` is null where no database was asked."""

    result: Any
    generation: int | None
    rung: RungName


class Budget:
    """Time until a moment on the monotonic clock.

    Work in a thread cannot be stopped, so it is begun only where an estimate of it fits.
    """

    def __init__(self, seconds: float) -> None:
        self.until = monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds, 0 when it is over."""
        return max(0.0, self.until - monotonic())

    def affords(self, seconds: float) -> bool:
        """Whether work of that length would end in time."""
        return monotonic() + seconds <= self.until


_SAYS: dict[type, Callable[[Answers, Any], Any]] = {
    GetContext: lambda answers, asked: answers.context(asked.nodes),
    GetNode: lambda answers, asked: answers.node(asked.node),
    Callers: lambda answers, asked: answers.callers(asked.node, asked.depth),
    Callees: lambda answers, asked: answers.callees(asked.node, asked.depth),
    Tests: lambda answers, asked: answers.tests(asked.node, asked.depth),
    Search: lambda answers, asked: answers.search(asked.query, asked.limit),
}


def answered(answers: Answers, request: Request) -> Any:
    """The result of a request about nodes. Raises NotFound for an unknown one."""
    return _SAYS[type(request)](answers, request)


def nodes_of(request: Request) -> tuple[str, ...]:
    """The keys that a request names; none where it asks about the whole project."""
    if isinstance(request, GetContext):
        return request.nodes
    return (request.node,) if isinstance(request, GetNode | Callers | Callees | Tests) else ()
