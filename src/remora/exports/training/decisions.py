"""Model decisions in a stream, with their requests, responses, tool calls and results."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from remora.chat import AnswerForm, answer_form
from remora.errors import StreamDamaged
from remora.exports.stream_summary import HINT
from remora.memory.budget import CURRENT_TRIM, trim
from remora.memory.canonical import canonical_sha256
from remora.memory.events import (
    AgentError,
    AgentStart,
    Event,
    ModelRequest,
    ModelResponse,
    Payload,
    ToolCalled,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.trace.blobs import resolved_payload
from remora.trace.content.objects import ObjectStore
from remora.trace.read.reader import decode_part

_KEPT = frozenset(
    {AgentStart.type, ModelRequest.type, ModelResponse.type, ToolCalled.type, AgentError.type}
)


class Result(msgspec.Struct, frozen=True):
    """The outcome of a tool call, without its output."""

    outcome: str = "success"
    error: Any = None


class ModelDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A model request, its event, and the packet at that point.

    `trim` is the version of the trim rules. The other fields are None if the model did not answer,
    or if its answer did not lead to a call.
    """

    event: Event
    request: ModelRequest
    packet: DecisionPacket
    trim: str = CURRENT_TRIM
    answer: ModelResponse | None = None
    call: ToolCalled | None = None
    result: Result | None = None
    error: AgentError | None = None

    @property
    def strategy(self) -> str:
        """The decoding strategy, which is `rank`, `grammar`, `tool_call` or `completion`."""
        return str(self.request.decoding.get("strategy", ""))

    @property
    def form(self) -> AnswerForm:
        """The form of answers for the decoding strategy."""
        return answer_form(self.strategy)

    def shown(self) -> DecisionPacket:
        """Return the packet that was shown in the request.

        Raises StreamDamaged if the packet's hash differs from the recorded hash.
        """
        packet = trim(self.packet, self.request.trim, self.trim)
        if canonical_sha256(packet) != self.request.packet_sha256:
            raise StreamDamaged(
                f"{self.event.agent_id}: the packet of event {self.event.seq} "
                "does not match its recorded hash",
                hint=HINT,
            )
        return packet


def model_decisions(events: Iterable[Event], blobs: ObjectStore) -> Iterator[ModelDecision]:
    """Yield the decisions of a stream in order, each when its result is known.

    If a turn was interrupted and repeated, two decisions are yielded for the turn. If a list was
    ranked in several rotations, the first is yielded. Scored texts are left out, because the model
    wrote nothing. Only one turn is held in memory. Raises StreamDamaged if the stream cannot be read.
    """
    packet, version = DecisionPacket(), CURRENT_TRIM
    current: ModelDecision | None = None
    for event in events:
        if event.type == TurnStart.type and current is not None:
            yield current
            current = None
        payload = resolved_payload(event, blobs) if event.type in _KEPT else None
        if isinstance(payload, ModelRequest):
            if _is_exported(payload):
                yield from filter(None, (current,))
                current = ModelDecision(event=event, request=payload, packet=packet, trim=version)
        elif current is not None:
            current = _with(current, event, payload)
        if isinstance(payload, AgentStart):
            packet, version = payload.packet, payload.trim
        packet = apply(packet, event.packet_delta)
    if current is not None:
        yield current


def _is_exported(request: ModelRequest) -> bool:
    form = answer_form(str(request.decoding.get("strategy", "")))
    return not form.scores_texts and not request.decoding.get("rotation")


def _with(current: ModelDecision, event: Event, payload: Payload | None) -> ModelDecision:
    replace = msgspec.structs.replace
    match payload:
        case ModelResponse():
            return current if current.answer is not None else replace(current, answer=payload)
        case ToolCalled():
            return replace(current, call=payload)
        case AgentError():
            return replace(current, error=payload)
    if event.type == ToolResulted.type and current.call is not None:
        return replace(current, result=decode_part(event, Result))
    return current
