"""Model decisions in a stream, with their requests, responses, tool calls and results.

A turn may have two requests, of which the second is to a larger model. An answer has the turn's
call and result only if it is the one that led to the call.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.agents.decision.strategies import STRATEGIES
from remora.chat import AnswerForm, ToolCall, ToolSchema, answer_form
from remora.errors import StreamDamaged
from remora.memory.budget import trim
from remora.memory.canonical import canonical, canonical_sha256
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
from remora.models.decoding.call_validation import BadCall
from remora.trace.blobs import resolved_payload
from remora.trace.content.objects import ObjectStore
from remora.trace.read.agent_turns import HINT
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

    `written` is the call that the answer was read as, or
    `problem` is the reason why it is not a call. `call` and `result` are None unless this answer led
    to the turn's call.
    """

    event: Event
    request: ModelRequest
    packet: DecisionPacket
    answer: ModelResponse | None = None
    written: ToolCall | None = None
    problem: str = ""
    call: ToolCalled | None = None
    result: Result | None = None
    error: AgentError | None = None

    @property
    def taken(self) -> ToolCall | None:
        """The call that the answer led to, or else the call that it was read as."""
        if self.call is not None:
            return ToolCall(tool=self.call.tool, args=self.call.args)
        return self.written

    @property
    def strategy(self) -> str:
        """The decoding strategy, such as `grammar` or `tool_call`."""
        return str(self.request.decoding.get("strategy", ""))

    @property
    def form(self) -> AnswerForm:
        """The form of answers for the decoding strategy."""
        return answer_form(self.strategy)

    def shown(self) -> DecisionPacket:
        """Return the packet that was shown in the request.

        Raises StreamDamaged if the packet's hash differs from the recorded hash.
        """
        packet = trim(self.packet, self.request.trim)
        if canonical_sha256(packet) != self.request.packet_sha256:
            raise StreamDamaged(
                f"{self.event.agent_id}: the packet of event {self.event.seq} "
                "does not match its recorded hash",
                hint=HINT,
            )
        return packet


def model_decisions(events: Iterable[Event], blobs: ObjectStore) -> Iterator[ModelDecision]:
    """Yield the decisions of a stream in order, each when its turn has ended.

    If a turn was interrupted and repeated, a decision is yielded for each request. Only one turn is held in memory. Raises StreamDamaged if the stream cannot be
    read.
    """
    packet, turn = DecisionPacket(), _Turn()
    for event in events:
        if event.type == TurnStart.type:
            yield from turn.take()
        payload = resolved_payload(event, blobs) if event.type in _KEPT else None
        if isinstance(payload, AgentStart):
            packet, turn = payload.packet, _Turn(payload)
        turn.add(event, payload, packet)
        packet = apply(packet, event.packet_delta)
    yield from turn.take()


class _Turn:
    """The decisions of a turn so far."""

    def __init__(self, start: AgentStart | None = None) -> None:
        self._tools = () if start is None else start.tools
        self._decisions: list[ModelDecision] = []
        self._is_asked = False

    def take(self) -> Iterator[ModelDecision]:
        """Return all decisions, and begin the next turn."""
        found, self._decisions = self._decisions, []
        self._is_asked = False
        return iter(found)

    def add(self, event: Event, payload: Payload | None, packet: DecisionPacket) -> None:
        match payload:
            case ModelRequest():
                self._is_asked = True
                self._decisions.append(ModelDecision(event=event, request=payload, packet=packet))
            case ModelResponse() if self._is_asked:
                last = self._decisions.pop()
                self._decisions.append(_answered(last, payload, self._tools))
                self._is_asked = False
            case ToolCalled():
                self._called(payload)
            case AgentError():
                self._decisions = [replace(decision, error=payload) for decision in self._decisions]
                if payload.kind == "bad_call" and self._decisions:  # as its own version read it
                    last = self._decisions.pop()
                    last = replace(last, written=None, problem=last.problem or payload.message)
                    self._decisions.append(last)
            case None if event.type == ToolResulted.type:
                result = decode_part(event, Result)
                self._decisions = [
                    decision if decision.call is None else replace(decision, result=result)
                    for decision in self._decisions
                ]

    def _called(self, call: ToolCalled) -> None:
        """Give the call to the answers that were read as it."""
        made = canonical([call.tool, call.args])
        self._decisions = [
            replace(decision, call=call)
            if decision.written
            and canonical([decision.written.tool, decision.written.args]) == made
            else decision
            for decision in self._decisions
        ]


def _answered(
    decision: ModelDecision, answer: ModelResponse, tools: Sequence[ToolSchema]
) -> ModelDecision:
    """Add the answer, and the call that it is read as if the model wrote it."""
    found = replace(decision, answer=answer)
    strategy = STRATEGIES.get(decision.strategy)  # type: ignore[call-overload]
    if strategy is None:
        return found
    candidates = trim(decision.packet, decision.request.trim).candidate_actions
    try:
        call = strategy.read(answer, candidates, tools)
    except BadCall as bad:
        return replace(found, problem=bad.message)
    return replace(found, written=ToolCall(tool=call.tool, args=call.args))
