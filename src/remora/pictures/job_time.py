"""The time in which a job worked, and what it waited for."""

from typing import Literal

import msgspec

Activity = Literal["model", "tools", "checks"]
ACTIVITIES: tuple[Activity, ...] = ("model", "tools", "checks")
"""What a job waits for: a model's answer, a tool, or the checks of its submission."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """A time in which a job waited for one thing. Times are seconds since 1970."""

    activity: Activity
    start: float
    end: float


class JobTime(msgspec.Struct, frozen=True, kw_only=True):
    """The time in which an attempt was worked on without interruption.

    An attempt that was interrupted and resumed has several. `status` is that of the attempt if this
    is its last one, and otherwise `interrupted`. It is `conflict` if that is the last verdict on
    the attempt's change set. Times are seconds since 1970.
    """

    agent_id: str
    operation: str
    node_id: str
    attempt: int
    status: str
    start: float
    end: float
    spans: tuple[Span, ...] = ()

    @property
    def seconds(self) -> float:
        return self.end - self.start

    def waited(self, activity: Activity) -> float:
        """Return the seconds that the job waited for one thing."""
        return sum(span.end - span.start for span in self.spans if span.activity == activity)
