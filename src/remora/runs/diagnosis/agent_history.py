"""Turns of an agent with their errors as texts, in which the cause of a failure is found."""

from collections.abc import Iterable

import msgspec

from remora.memory.canonical import json_text
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentEnd, Event
from remora.memory.packet import DecisionPacket
from remora.runs.diagnosis.texts import plain_text, reported_errors
from remora.runs.records.no_change_reason import NoChangeReason
from remora.statuses import shown_status
from remora.text import clip
from remora.trace.read.agent_turns import AgentTurn, DecisionState, EventData, folded_turns
from remora.trace.read.reader import decode_part

_BY_MODEL = frozenset({"model", "escalation", "fallback"})


class Turn(msgspec.Struct):
    """A turn of an agent."""

    number: int
    state: DecisionState
    """The packet that the model saw."""
    seq: int | None = None
    """The event of the decision."""
    tool: str = ""
    call: str = ""
    """The decision as text."""
    is_of_model: bool = False
    problem: tuple[str, str] | None = None
    """The kind and the text of an error that ended the turn without a call."""
    result_seq: int | None = None
    """The event of the call's result."""
    is_error: bool = False
    error: str = ""
    summary: str = ""
    """The text that the packet keeps of the result."""
    has_changed: bool = False
    """True if the call changed files."""
    reported: tuple[str, ...] = ()
    """The first lines of the raw output that report an error."""


class AgentHistory(msgspec.Struct):
    """The first and the last event of an agent, its turns and its end."""

    first: Event | None = None
    last: Event | None = None
    turns: list[Turn] = []
    end: AgentEnd | None = None
    no_change: NoChangeReason = msgspec.field(default_factory=NoChangeReason)


def agent_history(events: Iterable[Event]) -> AgentHistory:
    """Return the history in a stream. Raises StreamDamaged if the data of an event is invalid."""
    history = AgentHistory()
    for turn in folded_turns(events):
        history.first, history.last = history.first or turn.events[0], turn.events[-1]
        history.turns += [_describe_turn(turn)] if turn.number else []
        history.end = (
            history.end if turn.end is None else _describe_end(decode_part(turn.end, EventData))
        )
        for event in turn.events:
            history.no_change.add(event)
    return history


def _describe_turn(turn: AgentTurn) -> Turn:
    found = Turn(turn.number, turn.shown or DecisionState(DecisionPacket(), 0))
    for called in turn.calls:
        data = decode_part(called.event, EventData)
        args = (f"{key}={clip(json_text(value), 60)}" for key, value in data.args.items())
        found.seq, found.tool = called.event.seq, data.tool
        found.is_of_model = data.decided_by in _BY_MODEL
        found.call = clip(f"{data.tool}({', '.join(args)})", 160)
    for result in turn.results:
        data = decode_part(result, EventData)
        action = (result.packet_delta or PacketDelta()).add_action
        found.result_seq, found.tool = result.seq, data.tool
        found.is_error, found.error = data.outcome == "error", plain_text(data.error)
        found.summary = "" if action is msgspec.UNSET else action.summary
        found.has_changed, found.reported = bool(data.changes), reported_errors(data.raw_output)
    for error in turn.errors:
        data = decode_part(error, EventData)
        found.seq, found.problem = error.seq, (data.kind, plain_text(data.message))
    return found


def _describe_end(data: EventData) -> AgentEnd:
    error = None if data.error is None else plain_text(data.error)
    status, reason = shown_status(data.status), shown_status(data.stop_reason)
    return AgentEnd(status=status, stop_reason=reason, error=error)
