"""Answers of sources, and the time budget for an answer."""

from time import monotonic
from typing import Any, Literal, NamedTuple

SECONDS_PER_BYTE = 1e-6
"""Maximum seconds to read and analyze one byte: twice the time measured on a slow machine."""
SourceName = Literal["socket", "http", "sqlite", "file"]


class SourceAnswer(NamedTuple):
    """A decoded protocol result and the source that provided it.

    `generation` is None if the answer does not come from a database.
    """

    result: Any
    generation: int | None
    source: SourceName


class Busy(NamedTuple):
    """The source is busy, and the request may be retried later.

    `after` is how long the client has already waited, in seconds.
    """

    after: float


class Budget:
    """Time that is left until a deadline.

    Threads cannot be stopped, so work should be started only if it can finish in time.
    """

    def __init__(self, seconds: float) -> None:
        self.until = monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self.until - monotonic())

    def affords(self, seconds: float) -> bool:
        """Return True if work that takes `seconds` would finish in time."""
        return monotonic() + seconds <= self.until
