"""Turns of a stream: the packet, the decision, its errors and its result."""

from collections.abc import Iterable
from typing import Any

import msgspec

from remora.memory.canonical import json_text
from remora.memory.delta import PacketDelta
from remora.memory.events import (
    AgentEnd,
    AgentError,
    AgentStart,
    Event,
    ModelRequest,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.runs.diagnosis.texts import plain_text, reported_errors
from remora.runs.records.no_change_reason import NoChangeReason
from remora.statuses import shown_status
from remora.text import clip
from remora.trace.read.reader import decode_part
from remora.trace.read.state_at import DecisionState, ShownPackets, start_packet

_BY_MODEL = frozenset({"model", "escalation", "fallback"})
_READ = frozenset({ToolCalled.type, ToolResulted.type, AgentError.type, AgentEnd.type})


class Turn(msgspec.Struct):
    """A turn of an agent.

    `state` is the packet that the model saw. `call` is the decision as text. `problem` is an error
    that ended the turn without a call. `result_seq` is the event of the call's result, `summary`
    the text that the packet keeps of it, and `reported` the first lines of the raw output that
    report an error.
    """

    number: int
    state: DecisionState
    seq: int | None = None
    tool: str = ""
    call: str = ""
    is_of_model: bool = False
    problem: tuple[str, str] | None = None
    result_seq: int | None = None
    is_error: bool = False
    error: str = ""
    summary: str = ""
    has_changed: bool = False
    reported: tuple[str, ...] = ()


class AgentHistory:
    """The turns of an agent and its end, folded from its events.

    Raises StreamDamaged if the data of an event is invalid.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self.first: Event | None = None
        self.last: Event | None = None
        self.turns: list[Turn] = []
        self.end: AgentEnd | None = None
        self.no_change = NoChangeReason()
        self._packet = DecisionPacket()
        self._shown = ShownPackets()
        for event in events:
            self._add(event)

    def _add(self, event: Event) -> None:
        self.first, self.last = self.first or event, event
        if event.type == AgentStart.type:
            self._packet, self.turns = start_packet(event) or self._packet, []
        before = DecisionState(self._packet, 0)
        if event.turn and (not self.turns or self.turns[-1].number != event.turn):
            self.turns.append(Turn(event.turn, before))
            self._shown = ShownPackets()
        turn = self.turns[-1] if self.turns else Turn(0, before)
        if self._shown.select(event):
            turn.state = DecisionState(self._packet, decode_part(event, _Data).trim or 0)
        if event.type in _READ:
            self._read(event, decode_part(event, _Data), turn)
        self.no_change.add(event)
        self._packet = apply(self._packet, event.packet_delta)
        if event.type != ModelRequest.type and not (turn.call or turn.problem or turn.state.trim):
            turn.state = DecisionState(self._packet, 0)

    def _read(self, event: Event, data: "_Data", turn: Turn) -> None:
        if event.type == ToolCalled.type:
            turn.seq, turn.tool = event.seq, data.tool
            turn.is_of_model = data.decided_by in _BY_MODEL
            args = (f"{key}={clip(json_text(value), 60)}" for key, value in data.args.items())
            turn.call = clip(f"{data.tool}({', '.join(args)})", 160)
        elif event.type == ToolResulted.type:
            action = (event.packet_delta or PacketDelta()).add_action
            turn.result_seq, turn.tool = event.seq, data.tool
            turn.is_error, turn.error = data.outcome == "error", plain_text(data.error)
            turn.summary = "" if action is msgspec.UNSET else action.summary
            turn.has_changed, turn.reported = bool(data.changes), reported_errors(data.raw_output)
        elif event.type == AgentError.type:
            turn.seq, turn.problem = event.seq, (data.kind, plain_text(data.message))
        else:
            error = None if data.error is None else plain_text(data.error)
            status, reason = shown_status(data.status), shown_status(data.stop_reason)
            self.end = AgentEnd(status=status, stop_reason=reason, error=error)


class _Data(msgspec.Struct):
    """The fields of events that are read. Others may be large, or refer to blobs."""

    tool: str = ""
    args: dict[str, Any] = {}
    decided_by: str = "rule"
    trim: int | None = None
    outcome: str = "success"
    changes: list[Any] = []
    raw_output: msgspec.Raw = msgspec.Raw(b"null")
    kind: str = ""
    message: Any = ""
    status: str = ""
    stop_reason: str = ""
    error: Any = None
