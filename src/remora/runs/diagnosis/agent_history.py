"""What a stream records of each turn: the packet, the decision, its errors and its result."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from remora.agents.loop.stop_rules import sent_tokens
from remora.chat import ToolSchema, Usage
from remora.memory.budget import trim
from remora.memory.delta import PacketDelta
from remora.memory.events import (
    AgentEnd,
    AgentError,
    AgentStart,
    Event,
    ModelRequest,
    ModelResponse,
    SubmitResult,
    ToolCalled,
    ToolResulted,
)
from remora.memory.packet import Candidate, DecisionPacket
from remora.memory.projection import apply
from remora.runs.diagnosis.output_texts import ReadBlob, plain_text, reported_errors
from remora.runs.records.findings import codes_left, left_texts, listed_findings
from remora.runs.records.no_change_reason import NoChangeReason
from remora.statuses import shown_status
from remora.trace.read.reader import decode_part
from remora.trace.read.state_at import ShownPackets, start_packet

_BY_MODEL = frozenset({"model", "escalation", "fallback"})


class HostCallRecord(msgspec.Struct, frozen=True):
    """A host call of a script. `error` is the error that the script received."""

    name: str = ""
    error: Any = None


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a model, and how many of its tokens the server says that it read."""

    seq: int
    prompt_tokens: int
    read_tokens: int | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of a turn."""

    seq: int
    tool: str
    args: dict[str, Any]
    decided_by: str


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a turn's call.

    `summary` is the text that the packet keeps of it, and `reported` the first lines of the raw
    output that report an error.
    """

    seq: int
    tool: str
    outcome: str
    error: str
    error_kind: str
    summary: str
    host_calls: tuple[HostCallRecord, ...]
    changed: tuple[str, ...]
    reported: tuple[str, ...]


class TurnProblem(msgspec.Struct, frozen=True, kw_only=True):
    """An error that ended a turn without a call."""

    seq: int
    kind: str
    message: str
    hint: str


class Turn(msgspec.Struct, kw_only=True):
    """A turn of an agent.

    `packet` is the packet that the model saw, which was shown after `trimmed` trim steps. `offered`
    contains the candidates that its call was chosen from.
    """

    number: int
    packet: DecisionPacket
    trimmed: int = 0
    offered: tuple[Candidate, ...] = ()
    request: Request | None = None
    call: Call | None = None
    result: ToolOutcome | None = None
    problem: TurnProblem | None = None

    @property
    def asked_model(self) -> bool:
        """True if the call came from a model, or was a model's to choose."""
        return self.call is not None and self.call.decided_by in _BY_MODEL


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """The event with which an agent submitted, and the checks that failed."""

    seq: int
    turn: int
    failed: tuple[dict[str, Any], ...]


class AgentHistory:
    """The turns of an agent, its start and its end, folded from its events.

    `left` has the findings that its tools listed last, by the reason why they are left.
    `read_blob` yields the texts that the stream keeps elsewhere. Without it, their first and last
    lines are read.
    """

    def __init__(self, read_blob: ReadBlob | None) -> None:
        self.first: Event | None = None
        self.last: Event | None = None
        self.tools: tuple[ToolSchema, ...] = ()
        self.turns: list[Turn] = []
        self.submission: Submission | None = None
        self.end: AgentEnd | None = None
        self.end_seq = 0
        self.no_change = NoChangeReason()
        self.left: tuple[str, ...] = ()
        self._packet = DecisionPacket()
        self._shown = ShownPackets()
        self._is_shown = False
        self._read_blob = read_blob
        self._handlers: dict[str, Callable[[Event], None]] = {
            AgentStart.type: self._started,
            ModelRequest.type: self._asked,
            ModelResponse.type: self._answered,
            ToolCalled.type: self._called,
            ToolResulted.type: self._resulted,
            AgentError.type: self._failed,
            SubmitResult.type: self._submitted,
            AgentEnd.type: self._ended,
        }

    def add(self, event: Event) -> None:
        """Add the next event. Events of unknown types only change the packet.

        Raises StreamDamaged if the event's data is invalid.
        """
        self.last = event
        self.first = self.first or event
        if event.type == AgentStart.type:
            self._packet = start_packet(event) or self._packet
        if event.turn and (not self.turns or self.turns[-1].number != event.turn):
            self.turns.append(Turn(number=event.turn, packet=self._packet))
            self._shown = ShownPackets()
        self._is_shown = self._shown.select(event)
        handler = self._handlers.get(event.type)
        if handler is not None:
            handler(event)
        self.no_change.add(event)
        if (listed := listed_findings(event)) is not None:
            self.left = left_texts(codes_left(listed))
        self._packet = apply(self._packet, event.packet_delta)
        turn = self.turns[-1] if self.turns else None
        if turn is not None and not (turn.request or turn.call or turn.problem):
            turn.packet = self._packet

    def shown(self, turn: Turn) -> DecisionPacket:
        """Return the packet of a turn as it was shown for the decision."""
        return trim(turn.packet, turn.trimmed)

    def packet_after(self, turn: Turn) -> DecisionPacket | None:
        """Return the packet that was shown in the turn after `turn`, or None if there is none."""
        later = next((one for one in self.after(turn) if one.call is not None), None)
        return None if later is None else self.shown(later)

    def after(self, turn: Turn) -> Iterator[Turn]:
        """Yield the turns after `turn`, in order."""
        place = bisect_right(self.turns, turn.number, key=lambda one: one.number)
        return islice(self.turns, place, None)

    def _decided(self, event: Event) -> Turn:
        turn = self.turns[-1] if self.turns else Turn(number=0, packet=self._packet)
        steps = decode_part(event, _Shown).trim or 0
        turn.offered = trim(self._packet, steps).candidate_actions
        if self._is_shown:
            turn.packet, turn.trimmed = self._packet, steps
        return turn

    def _started(self, event: Event) -> None:
        start = decode_part(event, _Start)
        self.tools = start.tools
        self.turns, self.submission, self.end = [], None, None

    def _asked(self, event: Event) -> None:
        self._decided(event).request = Request(seq=event.seq, prompt_tokens=sent_tokens(event))

    def _answered(self, event: Event) -> None:
        turn = self.turns[-1] if self.turns else None
        if turn is not None and turn.request is not None:
            read = decode_part(event, _Response).usage.prompt_tokens
            turn.request = msgspec.structs.replace(turn.request, read_tokens=read)

    def _called(self, event: Event) -> None:
        called = decode_part(event, _Called)
        self._decided(event).call = Call(
            seq=event.seq,
            tool=called.tool,
            args=called.args,
            decided_by=called.decided_by,
        )

    def _resulted(self, event: Event) -> None:
        result = decode_part(event, _Resulted)
        delta = event.packet_delta or PacketDelta()
        action = delta.add_action
        if self.turns:
            self.turns[-1].result = ToolOutcome(
                seq=event.seq,
                tool=result.tool,
                outcome=result.outcome,
                error=plain_text(result.error),
                error_kind=result.error_kind or "",
                summary="" if action is msgspec.UNSET else action.summary,
                host_calls=tuple(result.host_calls),
                changed=tuple(change.path for change in result.changes),
                reported=reported_errors(result.raw_output, self._read_blob),
            )

    def _failed(self, event: Event) -> None:
        error = decode_part(event, _Problem)
        turn = self._decided(event)
        turn.problem = TurnProblem(
            seq=event.seq,
            kind=error.kind,
            message=plain_text(error.message),
            hint=plain_text(error.hint),
        )

    def _submitted(self, event: Event) -> None:
        checks = decode_part(event, _Submitted).checks
        failed = tuple(check for check in checks if not check.get("ok"))
        self.submission = Submission(seq=event.seq, turn=event.turn, failed=failed)

    def _ended(self, event: Event) -> None:
        end = decode_part(event, _Ended)
        self.end_seq = event.seq
        self.end = AgentEnd(
            status=shown_status(end.status),
            stop_reason=shown_status(end.stop_reason),
            error=None if end.error is None else plain_text(end.error),
        )


def read_history(events: Iterable[Event], read_blob: ReadBlob | None = None) -> AgentHistory:
    """Fold the events of an agent. Raises StreamDamaged if an event's data is invalid."""
    history = AgentHistory(read_blob)
    for event in events:
        history.add(event)
    return history


# Only these fields are decoded; other ones may be large, or hold references to blobs.
class _Start(msgspec.Struct):
    tools: tuple[ToolSchema, ...] = ()


class _Shown(msgspec.Struct):
    trim: int | None = None


class _Response(msgspec.Struct):
    usage: Usage = Usage()


class _Called(msgspec.Struct):
    tool: str
    args: dict[str, Any] = {}
    decided_by: str = "rule"


class _Changed(msgspec.Struct):
    path: str = ""


class _Resulted(msgspec.Struct):
    tool: str
    outcome: str = "success"
    error: Any = None
    error_kind: str | None = None
    host_calls: list[HostCallRecord] = []
    changes: list[_Changed] = []
    raw_output: msgspec.Raw = msgspec.Raw(b"null")


class _Problem(msgspec.Struct):
    kind: str
    message: Any = ""
    hint: Any = ""


class _Submitted(msgspec.Struct):
    checks: list[dict[str, Any]] = []


class _Ended(msgspec.Struct):
    status: str
    stop_reason: str
    error: Any = None
