"""A person's verdict on an attempt, as the run's stream records it."""

from collections.abc import Sequence
from typing import Any

from remora.errors import UsageError
from remora.memory.events import Review
from remora.runs.records.job_view import JobView
from remora.trace.redact.redactor import Redactor

MAX_FEEDBACK = 10_000
"""Characters of a feedback: what is larger would be moved out of the run's stream."""


def review_event(
    job: JobView,
    verdict: str,
    *,
    feedback: str | None = None,
    branch: str | None = None,
    detail: Sequence[dict[str, Any]] = (),
) -> Review:
    """The event. `feedback` is without secrets, `branch` the one that it was committed to, `detail`
    tells where a change set met the user's files."""
    return Review(
        verdict=verdict,
        agent_id=job.agent_id,
        change_set_sha256=job.change_set_sha256,
        head=job.head,
        feedback=feedback,
        branch=branch,
        detail=list(detail),
    )


def checked_feedback(feedback: str | None, redact: Redactor) -> str | None:
    """A feedback without secrets. Raises UsageError for one that is too long for one line of a
    stream."""
    if feedback is not None and len(feedback) > MAX_FEEDBACK:
        raise UsageError(
            f"the feedback has {len(feedback):,} characters, {MAX_FEEDBACK:,} are the most",
            hint="say it in fewer words",
        )
    return feedback and redact.text(feedback)
