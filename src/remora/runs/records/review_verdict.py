"""Review verdicts, as recorded in a run's stream."""

from remora.errors import UsageError
from remora.memory.events import Review
from remora.runs.project import Project
from remora.runs.records.job_view import JobView
from remora.statuses import ACCEPTED, CONFLICT, REJECTED, REVERTED, WITHDRAWN
from remora.trace.redact.redactor import Redactor

MAX_FEEDBACK = 10_000
"""Maximum characters of feedback: longer text would be moved out of the run's stream."""


def review_event(
    project: Project,
    job: JobView,
    verdict: str,
    *,
    feedback: str | None = None,
    branch: str | None = None,
) -> Review:
    """Return the event that records a verdict.

    `feedback` must already be redacted. `branch` is the branch that the change set was committed
    to. If a part is accepted, it stays so after a rejection, a withdrawal or a conflict of the rest.
    What is pending stays so after a conflict, and after a part was reverted.
    """
    is_part_kept = job.review.written is not None and verdict in (REJECTED, WITHDRAWN, CONFLICT)
    return Review(
        verdict=ACCEPTED if is_part_kept else verdict,
        agent_id=job.agent_id,
        change_set_sha256=job.proposal.sha256,
        head=job.stream.head,
        feedback=feedback,
        surface=project.surface,
        branch=branch or job.review.branch,
        written=job.review.written,
        left=job.review.left if verdict in (CONFLICT, REVERTED) else (),
        present=job.review.present,
    )


def checked_feedback(feedback: str | None, redact: Redactor) -> str | None:
    """Return the redacted feedback. Raises UsageError if it is too long."""
    if feedback is not None and len(feedback) > MAX_FEEDBACK:
        raise UsageError(
            f"feedback is too long: {len(feedback):,} characters (maximum {MAX_FEEDBACK:,})",
            hint="shorten it",
        )
    return feedback and redact.text(feedback)
