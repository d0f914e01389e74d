"""Decides by rule if there is only one choice, and otherwise from the model's answer."""

from collections.abc import Sequence

from msgspec.structs import replace

from remora.agents.builtin_tools import NEEDS_MODEL, SUBMIT
from remora.agents.decision.candidates import is_complete
from remora.agents.decision.query_settings import QuerySettings
from remora.agents.decision.strategies import STRATEGIES
from remora.chat import ToolSchema
from remora.memory.budget import trim
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentError, ModelRequest, ModelResponse, ToolCalled
from remora.memory.packet import DecisionPacket
from remora.models.decoding.call_validation import BadCall
from remora.models.protocol import is_truncated

Exchange = tuple[ModelRequest, ModelResponse]
"""A request and its answer."""
Decision = ToolCalled | AgentError
"""The turn's call, or the error that prevented one."""


def decide_by_rule(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> ToolCalled | None:
    """Choose the only candidate if it is complete. Return None if a model has to choose."""
    return _candidate(packet, 0) if _single(packet, tools) else None


def decide_without_model(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> ToolCalled:
    """Choose the first complete candidate, because scripts list the safest candidate first.

    If no candidate is complete, return a call that submits the changes made so far.
    """
    for index, candidate in enumerate(packet.candidate_actions):
        if is_complete(candidate, tools):
            return _candidate(packet, index)
    return ToolCalled(
        tool=SUBMIT,
        args={"summary": NEEDS_MODEL},
        decided_by="rule",
        scores=[None] * len(packet.candidate_actions),
        packet_sha256=canonical_sha256(packet),
        trim=0,
    )


def _single(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> bool:
    candidates = packet.candidate_actions
    return len(candidates) == 1 and is_complete(candidates[0], tools)


def _candidate(packet: DecisionPacket, index: int) -> ToolCalled:
    chosen = packet.candidate_actions[index]
    return ToolCalled(
        tool=chosen.tool,
        args=chosen.args,
        decided_by="rule",
        scores=[None] * len(packet.candidate_actions),
        choice=index,
        packet_sha256=canonical_sha256(packet),
        trim=0,
    )


def decide_by_answer(
    exchanges: Sequence[Exchange],
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    settings: QuerySettings,
    *,
    exact: bool,
) -> Decision:
    """Derive the decision from recorded requests, of the same strategy, and their answers.

    `packet` is the packet before trimming. `exact` is true if Remora counts tokens exactly as the
    server does. Returns an error of kind `bad_call` if the answer is not a valid call, or of kind
    `context_truncated` if the server did not read the whole prompt.
    """
    for request, response in exchanges:
        if is_truncated(request.prompt_tokens, exact=exact, usage=response.usage):
            message = (
                f"the server read {response.usage.prompt_tokens} of {request.prompt_tokens} "
                "prompt tokens: its context is smaller than it reports"
            )
            return _error("context_truncated", message, request)
    request, answers = exchanges[-1][0], [response for _, response in exchanges]
    candidates = trim(packet, request.trim, settings.trim).candidate_actions
    strategy = STRATEGIES[request.decoding["strategy"]]
    try:
        chosen = strategy.read(answers, candidates, tools, settings.margin)
    except BadCall as bad:
        return _error("bad_call", bad.message, request)
    return replace(chosen, packet_sha256=request.packet_sha256, trim=request.trim)


def asks_again(
    exchanges: Sequence[Exchange], packet: DecisionPacket, settings: QuerySettings
) -> bool:
    """Return True if the decision needs another answer to the same question."""
    request, answers = exchanges[-1][0], [response for _, response in exchanges]
    candidates = trim(packet, request.trim, settings.trim).candidate_actions
    try:
        return STRATEGIES[request.decoding["strategy"]].asks_again(answers, candidates)
    except BadCall:
        return False


def _error(kind: str, message: str, request: ModelRequest) -> AgentError:
    return AgentError(
        kind=kind, message=message, packet_sha256=request.packet_sha256, trim=request.trim
    )
