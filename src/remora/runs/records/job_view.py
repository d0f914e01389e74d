"""One attempt of a job, as its agent's stream and the run's record show it."""

from typing import Any

import msgspec

from remora.agents.job import Counts
from remora.errors import StreamDamaged
from remora.memory.events import Change, Head, Written
from remora.runs.records.findings import ListedFinding
from remora.statuses import ACCEPTED, DISMISSED, status_text


class Outcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """End of an attempt."""

    stop_reason: str | None = None
    """Cause of the agent's end."""
    error: str | None = None
    """Error. It is also set if the model failed and rules completed the job."""
    why: str | None = None
    """The reason for `no_change`, or the last step of a failed job."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The change set of an attempt."""

    changes: tuple[Change, ...] = ()
    """One change per changed file."""
    sha256: str = ""
    """The hash of the change set."""
    proof: str = ""
    """Proof of the change set: `parsed`, `checked` or `tested`."""
    same: bool = False
    """True if the parent attempt has an equal change set."""
    reasons: tuple[str, ...] = ()
    """What the model left undone or took back, each with its reason, and how far what it edited is
    tested."""


class ReviewState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The review of a change set."""

    state: str = ""
    """The last verdict, or `pending` for a verified change set without a verdict. It is `stale` if
    the user edited the node while the agent was working, and empty without a change set."""
    verdict: str = ""
    """The last verdict that was recorded, also if a part is pending after it."""
    feedback: str | None = None
    """The reason of the last verdict."""
    branch: str | None = None
    """The branch that the change set was committed to."""
    written: Written | None = None
    """Set if the change set was accepted in part or with edits."""
    present: tuple[int, ...] = ()
    """The numbers of the hunks that the user's files contained before it was accepted."""
    is_whole: bool = True
    """False if only a part of what the run proposed is accepted or pending, or an edited version of
    it: what that fixes is not known."""
    left: tuple[int, ...] = ()
    """The numbers of the hunks that are still pending, if not all of the change set is."""
    conflicts: tuple[dict[str, Any], ...] = ()
    """The conflicts of the last verdict as `{node_id, path, detail}`."""

    @property
    def is_written(self) -> bool:
        """True if the change set, or a part of it, was accepted."""
        return self.state == ACCEPTED or self.written is not None


class JobFindings(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The findings that tools reported. Counts are null if tools reported none."""

    before: dict[str, int] | None = None
    """The first findings, counted by code."""
    opened: dict[str, int] | None = None
    """Those when the model's turns began, or null if no model had any."""
    after: dict[str, int] | None = None
    """The last findings, counted by code."""
    measurements: dict[str, int] | None = None
    """Other numbers reported by the operation's tools."""
    first: tuple[ListedFinding, ...] = ()
    """The findings that tools listed first, or else those of the packet's first diagnostics."""
    last: tuple[ListedFinding, ...] = ()
    """The findings that tools listed last, or else those of the packet's last diagnostics."""
    remaining: dict[str, dict[str, int]] = {}
    """The number of findings that are left, by reason and code."""


class StreamState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The state of the agent's stream."""

    head: Head = Head()
    """The stream's head according to the run's record."""
    sound: Head | None = None
    """The head computed from the stream, if all its lines match their hashes."""
    damaged: bool = False
    """True if the stream cannot be read. Then only the status and the error are known."""


class JobView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One attempt of a job."""

    agent_id: str
    """The agent of the attempt."""
    operation: str
    """The operation of the job."""
    node_id: str
    """The node that the job works on."""
    nodes: list[str] | None = None
    """The same as in `Job`. It is null if the plan was not read."""
    attempt: int = 1
    """1 for the first attempt."""
    model: str | None = None
    """The model's name."""
    changed_by_user: bool = False
    """True if the user changed the node while the agent was working."""
    status: str | None = None
    """The status of the agent, or `planned` in a plan."""
    outcome: Outcome = Outcome()
    counts: Counts = Counts()
    decisions: dict[str, int] = {}
    """The number of tool calls by what made them."""
    proposal: Proposal = Proposal()
    review: ReviewState = ReviewState()
    findings: JobFindings = JobFindings()
    stream: StreamState = StreamState()

    @property
    def state_text(self) -> str:
        """The verdict on the change set, or else the status."""
        return status_text(self.review.state or str(self.status))

    @property
    def all_reasons(self) -> tuple[str, ...]:
        """The reason why a person or a later run dismissed the change set, and the model's."""
        review, reasons = self.review, self.proposal.reasons
        told = review.state in DISMISSED and review.feedback
        return (f"{review.state}: {review.feedback}", *reasons) if told else reasons

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes that were accepted, or the change set if it was not accepted in part."""
        written = self.review.written
        return self.proposal.changes if written is None else written.changes


def check_anchored(job: JobView) -> None:
    """Raise StreamDamaged unless the stream is complete and matches the run's record."""
    if job.stream.head.count == 0 or job.stream.sound != job.stream.head:
        raise differs(job.agent_id)


def differs(agent_id: str) -> StreamDamaged:
    """Return the error for a stream that differs from its run's record."""
    return StreamDamaged(
        f"the stream of {agent_id} differs from its run's record",
        hint="run `remora trace verify`; the stream was ignored",
    )
