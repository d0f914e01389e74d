"""One attempt of a job, read from its agent's stream."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET

from remora.agents.builtin_tools import LEAVE, UNDO
from remora.agents.loop.stop_rules import DECIDERS, TurnCounts
from remora.errors import DiskError, NotFound, StreamDamaged
from remora.memory.events import (
    AgentEnd,
    AgentStart,
    Change,
    ContextUpdate,
    Event,
    Head,
    JobEnd,
    JobStart,
    SubmitResult,
    ToolCalled,
    ToolResulted,
    Written,
)
from remora.runs.records.agent_stream import end_of
from remora.runs.records.decision_sources import decision_sources
from remora.runs.records.findings import (
    ListedFinding,
    codes_left,
    findings_in_texts,
    known_findings,
    known_measurements,
    listed_findings,
)
from remora.runs.records.lineage import ancestors, parent_of
from remora.runs.records.no_change_reason import NoChangeReason
from remora.statuses import ACCEPTED, DISMISSED, ERROR, INTERRUPTED, RUNNING, shown_status
from remora.trace.read.reader import (
    decode_part,
    is_being_written,
    read_events,
    typed_payload,
    update_source,
)
from remora.trace.read.verified_reader import events_with_heads
from remora.trace.trace_folder import TraceFolder


class JobView(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One attempt of a job.

    `nodes` has the same meaning as in `Job`. It is null if the plan was not read.

    `status` is `planned` in a plan.

    `review` is the last verdict, or `pending` for a verified change set without a verdict. It is
    `stale` if the user edited the node while the agent was working, and empty if there is nothing
    to review. `is_whole` is false if only a part of what the run proposed is accepted or pending, or
    an edited version of it: what that fixes is not known. `verdict` is the
    last one that was recorded, also if a part is pending after it.

    `before` and `after` are the first and last findings reported by tools, keyed by code. They are
    null if tools reported no findings. `opened` are those when the model's turns began, or null if
    no model had any. `measurements` contains other numbers reported by the
    operation's tools. `why` is the reason for `no_change`,
    or the last step of a failed job.

    `proof` is what stands behind a change set: `parsed`, `checked` or `tested`.

    `written` is set if the change set was accepted in part or with edits. `present` contains the
    numbers of the hunks that the user's files contained before it was accepted. `left` contains the
    numbers of the hunks that are still pending, if not all of the change set is.

    `same` is True if the parent attempt has an equal change set. `branch` is the branch that the
    change set was committed to. `conflicts` contains the conflicts of the last verdict as
    `{node_id, path, detail}`.

    `first_findings` and `last_findings` are the findings that tools listed first and last. If no
    tool listed any, they are those of the packet's first and last diagnostics.

    `head` is the stream's head according to the run's record. `sound` is the head computed from the
    stream, if all its lines match their hashes.

    `model` is the model's name.

    `reasons` are what the model left undone or took back, each with its reason, and how far what it
    edited is tested. `remaining` counts the findings that are left, by reason and code. `feedback` is the
    reason of the last verdict.

    `error` is also set if the model failed and rules completed the job.

    If `damaged` is True, the stream cannot be read and only `error` is set.
    """

    agent_id: str
    operation: str
    node_id: str
    nodes: list[str] | None = None
    attempt: int = 1
    status: str | None = None
    stop_reason: str | None = None
    turns: int = 0
    decided_by: dict[str, int] = {}
    decisions: dict[str, int] = {}
    invalid: int = 0
    refused: int = 0
    requests: int = 0
    sent_tokens: int = 0
    max_packet_tokens: int = 0
    raw_bytes: int = 0
    change_set: tuple[Change, ...] = ()
    change_set_sha256: str = ""
    error: str | None = None
    damaged: bool = False
    changed_by_user: bool = False
    head: Head = Head()
    sound: Head | None = None
    model: str | None = None
    review: str = ""
    verdict: str = ""
    branch: str | None = None
    proof: str = ""
    written: Written | None = None
    present: tuple[int, ...] = ()
    is_whole: bool = True
    left: tuple[int, ...] = ()
    conflicts: tuple[dict[str, Any], ...] = ()
    before: dict[str, int] | None = None
    opened: dict[str, int] | None = None
    after: dict[str, int] | None = None
    measurements: dict[str, int] | None = None
    why: str | None = None
    reasons: tuple[str, ...] = ()
    remaining: dict[str, dict[str, int]] = {}
    feedback: str | None = None
    same: bool = False
    first_findings: tuple[ListedFinding, ...] = ()
    last_findings: tuple[ListedFinding, ...] = ()

    @property
    def all_reasons(self) -> tuple[str, ...]:
        """The reason why a person or a later run dismissed the change set, and `reasons`."""
        told = self.review in DISMISSED and self.feedback
        return (f"{self.review}: {self.feedback}", *self.reasons) if told else self.reasons

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes that were accepted, or the change set if it was not accepted in part."""
        return self.change_set if self.written is None else self.written.changes

    @property
    def is_written(self) -> bool:
        """True if the change set, or a part of it, was accepted."""
        return self.review == ACCEPTED or self.written is not None


def read_job(
    folder: TraceFolder, start: JobStart, end: JobEnd | None, *, hashed: bool = False
) -> JobView:
    """Read an attempt from its stream.

    If the attempt never began its stream, the status is `interrupted`. If the stream is damaged or
    was removed, the status is `error`. `sound` is computed only if `hashed` is True.
    """
    view = JobView(
        agent_id=start.agent_id,
        operation=start.operation,
        node_id=start.node_id,
        attempt=start.attempt,
        decided_by=dict.fromkeys(DECIDERS, 0),
    )
    try:
        path = folder.existing_agent(start.agent_id)
        is_written = end is None and is_being_written(path)
        fold = _JobFold(folder, start.node_id)
        events = events_with_heads(path) if hashed else ((e, None) for e in read_events(path))
        found = Head()
        for event, head in events:
            fold.add(event, head)
            found = Head(count=event.seq + 1, hash=event.hash)
        if end is not None and end.head.count >= found.count and found != end.head != Head():
            raise _differs(start.agent_id)
    except NotFound:
        if end is None or not end.head.count:
            return msgspec.structs.replace(view, status=INTERRUPTED)
        return _damaged(view, end, f"the stream of {start.agent_id} was removed")
    except (StreamDamaged, DiskError) as error:
        return _damaged(view, end, error.message)
    if end is not None:
        view = msgspec.structs.replace(view, status=shown_status(end.status), head=end.head)
    else:
        is_running = is_written and fold.end is None
        view = msgspec.structs.replace(view, status=RUNNING if is_running else INTERRUPTED)
    return fold.in_view(view)


def _damaged(view: JobView, end: JobEnd | None, problem: str) -> JobView:
    return msgspec.structs.replace(
        view,
        status=ERROR,
        error=f"{problem}; see `remora trace verify`",
        damaged=True,
        head=end.head if end is not None else Head(),
    )


def check_anchored(job: JobView) -> None:
    """Raise StreamDamaged unless the stream is complete and matches the run's record."""
    if job.head.count == 0 or job.sound != job.head:
        raise _differs(job.agent_id)


def _differs(agent_id: str) -> StreamDamaged:
    return StreamDamaged(
        f"the stream of {agent_id} differs from its run's record",
        hint="run `remora trace verify`; the stream was ignored",
    )


def is_changed_by_user(shown: Mapping[str, Any], node_id: str) -> bool:
    """Return True if the user changed the node, according to the hub facts in `shown`."""
    facts = shown.get(node_id)
    return isinstance(facts, Mapping) and facts.get("changed_by_user") is True


class _Check(msgspec.Struct):
    detail: str = ""


class _Data(msgspec.Struct):
    """What is read of calls and submissions."""

    decided_by: str = "rule"
    verified: bool = False
    checks: list[_Check] = []


class _JobFold:
    """Folds the events of an attempt into its view."""

    def __init__(self, folder: TraceFolder, node_id: str) -> None:
        self._folder = folder
        self._node_id = node_id
        self._changed_by_user = False
        self._tally = TurnCounts()
        self.end: AgentEnd | None = None
        self._before: dict[str, int] | None = None
        self._opened: dict[str, int] | None = None
        self._after: dict[str, int] | None = None
        self._measurements: dict[str, int] | None = None
        self._reason = NoChangeReason()
        self._parent = ""
        self._listed: list[tuple[ListedFinding, ...]] = []
        self._diagnostics: list[tuple[Any, ...]] = []
        self._sound: Head | None = None
        self._model: str | None = None
        self._provider = ""
        self._caller = ""
        self._reasons: list[str] = []

    def add(self, event: Event, head: Head | None) -> None:
        self._sound = head
        self._tally.add(event)
        self._reason.add(event)
        self._learn([event])
        self._hear(event)
        self._see_reason(event)
        # other events may have their text in blobs, which are not read here
        data = typed_payload(event) if event.type in (AgentStart.type, AgentEnd.type) else None
        if isinstance(data, AgentStart):  # a fork begins with its parent's knowledge
            self._learn(ancestors(self._folder, data))
            self._parent = parent.agent_id if (parent := parent_of(data)) is not None else ""
            self._changed_by_user = is_changed_by_user(data.packet.hub_context, self._node_id)
            self._model = data.model.get("name")
            self._provider = str(data.model.get("provider"))
            if data.packet.diagnostics:
                self._diagnostics.append(data.packet.diagnostics)
        elif isinstance(data, AgentEnd):
            self.end = data
        else:
            self._see_findings(event)
            self._see_submission(event)

    def _learn(self, events: Iterable[Event]) -> None:
        for event in events:
            counts = known_findings(event)
            if counts is not None:
                self._before = counts if self._before is None else self._before
                self._after = counts
            self._measurements = known_measurements(event) or self._measurements
            if event.type == ContextUpdate.type and update_source(event) == "opening":
                self._opened = self._after

    def _hear(self, event: Event) -> None:
        delta = event.packet_delta
        if delta is not None and delta.hub_context and self._node_id in delta.hub_context:
            self._changed_by_user = is_changed_by_user(delta.hub_context, self._node_id)

    def _see_findings(self, event: Event) -> None:
        listed = listed_findings(event)
        if listed is not None:
            self._listed = [*self._listed[:1], listed]
        delta = event.packet_delta
        if delta is not None and isinstance(delta.diagnostics, tuple):
            self._diagnostics = [*self._diagnostics[:1], delta.diagnostics]

    def _see_submission(self, event: Event) -> None:
        if event.type == SubmitResult.type:
            with suppress(StreamDamaged):  # accepted changes do not depend on it
                submission = decode_part(event, _Data)
                if submission.verified:
                    self._reasons += filter(None, (each.detail for each in submission.checks))

    def _see_reason(self, event: Event) -> None:
        """Keep the summary of a call with which the model leaves or takes back something."""
        if event.type == ToolCalled.type:
            self._caller = decode_part(event, _Data).decided_by
        delta = event.packet_delta
        if event.type != ToolResulted.type or delta is None or self._caller == "rule":
            return
        action = delta.add_action
        if action is not UNSET and action.tool in (LEAVE, UNDO) and action.outcome == "success":
            self._reasons.append(action.summary)

    def _is_parents(self, end: AgentEnd) -> bool:
        if not (self._parent and end.change_set):
            return False
        with suppress(StreamDamaged, DiskError):
            before = end_of(self._folder, self._parent)
            return before is not None and before.change_set_sha256 == end.change_set_sha256
        return False

    def in_view(self, view: JobView) -> JobView:
        end = self.end
        listed = self._listed or [findings_in_texts(texts) for texts in self._diagnostics]
        view = msgspec.structs.replace(
            view,
            **self._tally.as_dict(),
            decisions=decision_sources(self._tally.decided_by, self._provider),
            before=self._before,
            opened=self._opened,
            after=self._after,
            measurements=self._measurements,
            changed_by_user=self._changed_by_user,
            first_findings=listed[0] if listed else (),
            last_findings=listed[-1] if listed else (),
            remaining=codes_left(listed[-1]) if listed else {},
            sound=self._sound,
            model=self._model,
            reasons=tuple(dict.fromkeys(self._reasons)),
        )
        if end is None:
            return view
        return msgspec.structs.replace(
            view,
            stop_reason=shown_status(end.stop_reason),
            change_set=end.change_set,
            change_set_sha256=end.change_set_sha256,
            error=end.error,
            same=self._is_parents(end),
            why=self._reason.why(end.status, self._after),
        )
