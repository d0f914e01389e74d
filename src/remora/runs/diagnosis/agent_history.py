"""What a stream records of each turn: the packet, the decision, its errors and its result."""

from collections.abc import Iterable
from typing import Any

import msgspec

from remora.memory.budget import trim
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
from remora.trace.read.state_at import ShownPackets, start_packet

_BY_MODEL = frozenset({"model", "escalation", "fallback"})


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a turn's call.

    `summary` is the text that the packet keeps of it, and `reported` the first lines of the raw
    output that report an error.
    """

    seq: int
    tool: str
    is_error: bool
    error: str
    summary: str
    has_changed: bool
    reported: tuple[str, ...]


class Turn(msgspec.Struct, kw_only=True):
    """A turn of an agent.

    `packet` is the packet that the model saw, which was shown after `trimmed` trim steps. `call` is
    the decision as text. `problem` is an error that ended the turn without a call.
    """

    number: int
    packet: DecisionPacket
    trimmed: int = 0
    seq: int | None = None
    tool: str = ""
    call: str = ""
    is_of_model: bool = False
    result: ToolOutcome | None = None
    problem: tuple[str, str] | None = None

    @property
    def shown(self) -> DecisionPacket:
        """The packet as it was shown for the decision."""
        return trim(self.packet, self.trimmed)


class AgentHistory:
    """The turns of an agent and its end, folded from its events."""

    def __init__(self) -> None:
        self.first: Event | None = None
        self.last: Event | None = None
        self.turns: list[Turn] = []
        self.end: AgentEnd | None = None
        self.no_change = NoChangeReason()
        self._packet = DecisionPacket()
        self._shown = ShownPackets()

    def add(self, event: Event) -> None:
        """Add the next event. Events of unknown types only change the packet.

        Raises StreamDamaged if the event's data is invalid.
        """
        self.first, self.last = self.first or event, event
        if event.type == AgentStart.type:
            self._packet, self.turns = start_packet(event) or self._packet, []
        if event.turn and (not self.turns or self.turns[-1].number != event.turn):
            self.turns.append(Turn(number=event.turn, packet=self._packet))
            self._shown = ShownPackets()
        turn = self.turns[-1] if self.turns else Turn(number=0, packet=self._packet)
        if self._shown.select(event):
            turn.packet, turn.trimmed = self._packet, decode_part(event, _Shown).trim or 0
        self._take(event, turn)
        self.no_change.add(event)
        self._packet = apply(self._packet, event.packet_delta)
        if event.type != ModelRequest.type and not (turn.call or turn.problem or turn.trimmed):
            turn.packet = self._packet

    def _take(self, event: Event, turn: Turn) -> None:
        if event.type == ToolCalled.type:
            called = decode_part(event, _Called)
            turn.seq, turn.tool = event.seq, called.tool
            turn.is_of_model = called.decided_by in _BY_MODEL
            args = (f"{key}={clip(json_text(value), 60)}" for key, value in called.args.items())
            turn.call = clip(f"{called.tool}({', '.join(args)})", 160)
        elif event.type == ToolResulted.type:
            turn.result = _outcome(event, decode_part(event, _Resulted))
        elif event.type == AgentError.type:
            error = decode_part(event, _Problem)
            turn.seq, turn.problem = event.seq, (error.kind, plain_text(error.message))
        elif event.type == AgentEnd.type:
            end = decode_part(event, _Ended)
            self.end = AgentEnd(
                status=shown_status(end.status),
                stop_reason=shown_status(end.stop_reason),
                error=None if end.error is None else plain_text(end.error),
            )


def _outcome(event: Event, result: "_Resulted") -> ToolOutcome:
    action = (event.packet_delta or PacketDelta()).add_action
    return ToolOutcome(
        seq=event.seq,
        tool=result.tool,
        is_error=result.outcome == "error",
        error=plain_text(result.error),
        summary="" if action is msgspec.UNSET else action.summary,
        has_changed=bool(result.changes),
        reported=reported_errors(result.raw_output),
    )


def read_history(events: Iterable[Event]) -> AgentHistory:
    """Fold the events of an agent. Raises StreamDamaged if an event's data is invalid."""
    history = AgentHistory()
    for event in events:
        history.add(event)
    return history


# Only these fields are decoded; other ones may be large, or hold references to blobs.
class _Shown(msgspec.Struct):
    trim: int | None = None


class _Called(msgspec.Struct):
    tool: str
    args: dict[str, Any] = {}
    decided_by: str = "rule"


class _Resulted(msgspec.Struct):
    tool: str
    outcome: str = "success"
    error: Any = None
    changes: list[Any] = []
    raw_output: msgspec.Raw = msgspec.Raw(b"null")


class _Problem(msgspec.Struct):
    kind: str
    message: Any = ""


class _Ended(msgspec.Struct):
    status: str
    stop_reason: str
    error: Any = None
