"""Answer of a source: the protocol's result and its origin; and the time budget."""

from time import monotonic
from typing import Any, Literal, NamedTuple

SourceName = Literal["socket", "sqlite", "file"]


class SourceAnswer(NamedTuple):
    """A result: of `get_context` a dict of AnsweredNode, of `get_node` a NodeState, of the others
    what the protocol says. `generation` is null where no database was asked."""

    result: Any
    generation: int | None
    rung: SourceName


class Busy(NamedTuple):
    """It could be asked, and is to be asked at another time; said after so many seconds."""

    after: float


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
        """True if work of that length would end in time."""
        return monotonic() + seconds <= self.until
