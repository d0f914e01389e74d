"""Answer of a source with its origin, and the time budget."""

from time import monotonic
from typing import Any, Literal, NamedTuple

SourceName = Literal["socket", "sqlite", "file"]


class SourceAnswer(NamedTuple):
    """A decoded protocol result; `generation` is None without a database."""

    result: Any
    generation: int | None
    source: SourceName


class Busy(NamedTuple):
    """The source is busy; retry later. `after` is the number of seconds spent waiting."""

    after: float


class Budget:
    """Time until a deadline. Threads cannot be stopped, so work starts only if it can finish."""

    def __init__(self, seconds: float) -> None:
        self.until = monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self.until - monotonic())

    def affords(self, seconds: float) -> bool:
        """True if work that takes `seconds` would finish in time."""
        return monotonic() + seconds <= self.until
