"""Model decisions in a stream, with their requests, responses, tool calls and results.

A turn may have two requests, of which the second is to a larger model. An answer has the turn's
call and result only if it is the one that led to the call.
"""

from collections.abc import Iterable, Iterator, Sequence

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
    ToolCalled,
)
from remora.memory.packet import DecisionPacket
from remora.models.decoding.call_validation import BadCall
from remora.trace.content.objects import ObjectStore
from remora.trace.read.agent_turns import HINT, AgentTurn, EventData, Step, folded_turns
from remora.trace.read.blobs import whole_payload
from remora.trace.read.reader import decode_part


class ModelDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A model request and what followed."""

    event: Event
    """The event of the request."""
    request: ModelRequest
    packet: DecisionPacket
    """The packet at that point."""
    answer: ModelResponse | None = None
    written: ToolCall | None = None
    """The call that the answer was read as."""
    problem: str = ""
    """Why the answer is not a call."""
    call: ToolCalled | None = None
    """The turn's call, or None unless this answer was read as it."""
    result: EventData | None = None
    """The result of the call."""
    error: AgentError | None = None
    """The last error of the turn, for each of its decisions."""

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

    If a turn was interrupted and repeated, a decision is yielded for each request. Only one turn is
    held in memory. Raises StreamDamaged if the stream cannot be read.
    """
    tools: tuple[ToolSchema, ...] = ()
    for turn in folded_turns(events, blobs):
        if turn.start is not None:
            tools = whole_payload(turn.start, AgentStart, blobs).tools
        decisions = [_read_decision(turn, step, tools, blobs) for step in turn.requests]
        error = whole_payload(turn.errors[-1], AgentError, blobs) if turn.errors else None
        if error is not None and error.kind == "bad_call" and decisions:
            last = decisions[-1]  # the version that recorded it refused the answer
            decisions[-1] = replace(last, written=None, problem=last.problem or error.message)
        for decision in decisions:
            yield replace(_with_call(decision, turn, blobs), error=error)


def _read_decision(
    turn: AgentTurn, step: Step, tools: Sequence[ToolSchema], blobs: ObjectStore
) -> ModelDecision:
    """Return a decision, with the call that the answer is read as if the model wrote it."""
    request = whole_payload(step.event, ModelRequest, blobs)
    packet = turn.packet_before(step.event) or DecisionPacket()
    found = ModelDecision(event=step.event, request=request, packet=packet)
    strategy = STRATEGIES.get(found.strategy)  # type: ignore[call-overload]
    if step.reply is None:
        return found
    answer = whole_payload(step.reply, ModelResponse, blobs)
    found = replace(found, answer=answer)
    if strategy is None:
        return found
    try:
        call = strategy.read(answer, trim(packet, request.trim).candidate_actions, tools)
    except BadCall as bad:
        return replace(found, problem=bad.message)
    return replace(found, written=ToolCall(tool=call.tool, args=call.args))


def _with_call(decision: ModelDecision, turn: AgentTurn, blobs: ObjectStore) -> ModelDecision:
    """Return a decision with the turn's call and result if its answer was read as the call."""
    written = decision.written
    for step in turn.calls:
        call = whole_payload(step.event, ToolCalled, blobs)
        if written and canonical([written.tool, written.args]) == canonical([call.tool, call.args]):
            decision = replace(decision, call=call)
    if decision.call is not None and turn.results:
        decision = replace(decision, result=decode_part(turn.results[-1], EventData))
    return decision
