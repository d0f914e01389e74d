"""Reader of an attempt: folds its agent's stream into its view."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from remora.agents.builtin_tools import LEAVE, UNDO
from remora.agents.loop.turn_counts import NO_COUNTS, TurnCounts
from remora.errors import DiskError, NotFound, StreamDamaged
from remora.memory.events import AgentEnd, AgentStart, ContextUpdate, Event, Head, JobEnd, JobStart
from remora.runs.records.agent_stream import ancestors, end_of, parent_of
from remora.runs.records.decision_sources import decision_sources
from remora.runs.records.findings import (
    ListedFinding,
    codes_left,
    findings_in_texts,
    known_findings,
    known_measurements,
    listed_findings,
    wrong_examples,
)
from remora.runs.records.job_view import (
    JobFindings,
    JobView,
    Outcome,
    Proposal,
    StreamState,
    differs,
)
from remora.runs.records.no_change_reason import NoChangeReason
from remora.statuses import ERROR, INTERRUPTED, RUNNING, shown_status
from remora.trace.read.agent_turns import AgentTurn, EventData, agent_turns
from remora.trace.read.reader import (
    decode_part,
    is_being_written,
    payload_of,
    read_events,
    update_source,
)
from remora.trace.read.verified_reader import events_with_heads
from remora.trace.trace_folder import TraceFolder


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
        counts=NO_COUNTS,
    )
    try:
        path = folder.existing_agent(start.agent_id)
        is_written = end is None and is_being_written(path)
        fold = _JobFold(folder, start.node_id)
        events = (
            events_with_heads(path) if hashed else ((event, None) for event in read_events(path))
        )
        for turn in agent_turns(fold.note_heads(events)):
            fold.add(turn)
        if (
            end is not None
            and end.head.count >= fold.head.count
            and fold.head != end.head != Head()
        ):
            raise differs(start.agent_id)
    except NotFound:
        if end is None or not end.head.count:
            return replace(view, status=INTERRUPTED)
        return _damaged(view, end, f"the stream of {start.agent_id} was removed")
    except (StreamDamaged, DiskError) as error:
        return _damaged(view, end, error.message)
    if end is not None:
        return fold.in_view(view, shown_status(end.status), end.head)
    is_running = is_written and fold.end is None
    return fold.in_view(view, RUNNING if is_running else INTERRUPTED, Head())


def _damaged(view: JobView, end: JobEnd | None, problem: str) -> JobView:
    head = end.head if end is not None else Head()
    return replace(
        view,
        status=ERROR,
        outcome=Outcome(error=f"{problem}; see `remora trace verify`"),
        stream=StreamState(damaged=True, head=head),
    )


def is_changed_by_user(shown: Mapping[str, Any], node_id: str) -> bool:
    """Return True if the user changed the node, according to the hub facts in `shown`."""
    facts = shown.get(node_id)
    return isinstance(facts, Mapping) and facts.get("changed_by_user") is True


class _JobFold:
    """Folds the turns of an attempt into its view."""

    def __init__(self, folder: TraceFolder, node_id: str) -> None:
        self._folder = folder
        self._node_id = node_id
        self._changed_by_user = False
        """True if the user changed the node while the agent was working."""
        self._tally = TurnCounts()
        self.counts = NO_COUNTS
        self.head = Head()
        """The head after the last event, whose line may not match its hash."""
        self.end: AgentEnd | None = None
        self._before: dict[str, int] | None = None
        """The first findings that were known, counted by code."""
        self._opened: dict[str, int] | None = None
        """Those when the model's turns began."""
        self._after: dict[str, int] | None = None
        """The last ones."""
        self._measurements: dict[str, int] | None = None
        """Other numbers that tools reported last."""
        self._reason = NoChangeReason()
        self._parent = ""
        """The agent from which this one was forked, or an empty string."""
        self._listed: list[tuple[ListedFinding, ...]] = []
        """The first and the last list of findings."""
        self._diagnostics: list[tuple[Any, ...]] = []
        """The first and the last diagnostics of the packet."""
        self._sound: Head | None = None
        """The head, if all lines match their hashes."""
        self._model: str | None = None
        self._provider = ""
        self._reasons: list[str] = []
        """What the model left undone or took back, what checks said, and wrong examples."""

    def note_heads(self, events: Iterable[tuple[Event, Head | None]]) -> Iterator[Event]:
        """Yield the events, and note the stream's head."""
        for event, head in events:
            self._sound, self.head = head, Head(count=event.seq + 1, hash=event.hash)
            yield event

    def add(self, turn: AgentTurn) -> None:
        """Add a turn. Of texts in blobs, only the sizes are read."""
        for event in turn.events:
            self._tally.add(event)
            self._reason.add(event)
            self._count_findings([event])
            self._note_user_edit(event)
            if event is turn.start:
                self._add_start(payload_of(event, AgentStart))
            elif event.packet_delta and isinstance(event.packet_delta.diagnostics, tuple):
                self._diagnostics = [*self._diagnostics[:1], event.packet_delta.diagnostics]
        for event in (*turn.updates, *turn.results):
            if (listed := listed_findings(event)) is not None:
                self._listed = [*self._listed[:1], listed]
        self._keep_reasons(turn)
        self.counts = self._tally.total
        self.end = self.end if turn.end is None else payload_of(turn.end, AgentEnd)

    def _add_start(self, start: AgentStart) -> None:
        """Begin with the first packet. A fork begins with its parent's knowledge."""
        self._count_findings(ancestors(self._folder, start))
        self._parent = parent.agent_id if (parent := parent_of(start)) is not None else ""
        self._changed_by_user = is_changed_by_user(start.packet.hub_context, self._node_id)
        self._model = start.model.get("name")
        self._provider = str(start.model.get("provider"))
        if start.packet.diagnostics:
            self._diagnostics.append(start.packet.diagnostics)

    def _count_findings(self, events: Iterable[Event]) -> None:
        for event in events:
            counts = known_findings(event)
            if counts is not None:
                self._before = counts if self._before is None else self._before
                self._after = counts
            self._measurements = known_measurements(event) or self._measurements
            self._reasons += wrong_examples(event)
            if event.type == ContextUpdate.type and update_source(event) == "opening":
                self._opened = self._after

    def _note_user_edit(self, event: Event) -> None:
        delta = event.packet_delta
        if delta is not None and delta.hub_context and self._node_id in delta.hub_context:
            self._changed_by_user = is_changed_by_user(delta.hub_context, self._node_id)

    def _keep_reasons(self, turn: AgentTurn) -> None:
        """Keep why the model left or took back something, and what checks have to say."""
        deciders = [decode_part(step.event, EventData).decided_by for step in turn.calls]
        actions = [delta.add_action for result in turn.results if (delta := result.packet_delta)]
        for action in actions if deciders[-1:] != ["rule"] else ():
            if action is not UNSET and action.tool in (LEAVE, UNDO) and action.outcome == "success":
                self._reasons.append(action.summary)
        for event in turn.submissions:
            with suppress(StreamDamaged):  # accepted changes do not depend on it
                submission = decode_part(event, EventData)
                details = [check.detail for check in submission.checks if submission.verified]
                self._reasons += [text for text in details if text and isinstance(text, str)]

    def _equals_parents(self, end: AgentEnd) -> bool:
        if not (self._parent and end.change_set):
            return False
        with suppress(StreamDamaged, DiskError):
            before = end_of(self._folder, self._parent)
            return before is not None and before.change_set_sha256 == end.change_set_sha256
        return False

    def in_view(self, view: JobView, status: str, head: Head) -> JobView:
        """Return the view with what the stream says. `status` and `head` are the record's."""
        end, counts = self.end, self.counts
        listed = self._listed or [findings_in_texts(texts) for texts in self._diagnostics]
        outcome, proposal = Outcome(), Proposal()
        if end is not None:
            outcome = Outcome(
                stop_reason=shown_status(end.stop_reason),
                error=end.error,
                why=self._reason.why(end.status, self._after),
            )
            proposal = Proposal(
                changes=end.change_set,
                sha256=end.change_set_sha256,
                same=self._equals_parents(end),
            )
        return replace(
            view,
            status=status,
            outcome=outcome,
            counts=counts,
            decisions=decision_sources(counts.decided_by, self._provider),
            proposal=replace(proposal, reasons=tuple(dict.fromkeys(self._reasons))),
            findings=JobFindings(
                before=self._before,
                opened=self._opened,
                after=self._after,
                measurements=self._measurements,
                first=listed[0] if listed else (),
                last=listed[-1] if listed else (),
                remaining=codes_left(listed[-1]) if listed else {},
            ),
            changed_by_user=self._changed_by_user,
            model=self._model,
            stream=StreamState(head=head, sound=self._sound),
        )
