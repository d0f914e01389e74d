"""The decision of a turn: a rule's where there is no choice, else what the model's answer means."""

from collections.abc import Sequence

from msgspec.structs import replace

from remora.agents.decision.candidates import is_complete, matches
from remora.agents.decision.query_settings import Asking
from remora.chat import ToolCall, ToolSchema
from remora.memory.budget import trim
from remora.memory.canonical import canonical_sha256
from remora.memory.decode_values import decode_value
from remora.memory.events import AgentError, ModelRequest, ModelResponse, ToolCalled
from remora.memory.packet import Candidate, DecisionPacket
from remora.memory.prompt.base import LABELS
from remora.models.decoding.call_validation import BadCall, find_tool, validate_call
from remora.models.decoding.functiongemma_calls import parse_functiongemma
from remora.models.decoding.json_calls import parse_json_call
from remora.models.protocol import is_truncated

Decision = ToolCalled | AgentError
"""The turn's call, or why there is none."""


def by_rule(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> ToolCalled | None:
    """Return the only candidate, if it is complete; None if a model has to choose."""
    return _candidate(packet, 0) if _single(packet, tools) else None


def without_model(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> Decision:
    """Return the first complete candidate: scripts list the safest one first."""
    for index, candidate in enumerate(packet.candidate_actions):
        if is_complete(candidate, tools):
            return _candidate(packet, index)
    return AgentError(
        kind="no_model",
        message="no candidate is complete, and there is no model to ask",
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


def by_answer(
    request: ModelRequest,
    response: ModelResponse,
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    asking: Asking,
    *,
    exact: bool,
) -> Decision:
    """What a recorded answer to a recorded request decides, whenever it was given.

    `packet` is the one before it was trimmed; `exact` says whether tokens were counted as the
    server counts them. An error's kind is `bad_call` or `context_truncated`.
    """
    if is_truncated(request.prompt_tokens, exact=exact, usage=response.usage):
        message = (
            f"the server read {response.usage.prompt_tokens} of {request.prompt_tokens} prompt "
            "tokens: its context is smaller than it says"
        )
        return _error("context_truncated", message, request)
    candidates = trim(packet, request.trim).candidate_actions
    try:
        if asking.strategy == "rank":
            chosen = _ranked(response.scores or {}, candidates, asking.margin)
        else:
            chosen = _written(_call_of(response, tools, asking), candidates)
    except BadCall as bad:
        return _error("bad_call", bad.message, request)
    return replace(chosen, packet_sha256=request.packet_sha256, trim=request.trim)


def _error(kind: str, message: str, request: ModelRequest) -> AgentError:
    return AgentError(
        kind=kind, message=message, packet_sha256=request.packet_sha256, trim=request.trim
    )


def _ranked(found: dict[str, float], candidates: Sequence[Candidate], margin: float) -> ToolCalled:
    """The best candidate, or the first where the best two are closer than `margin`."""
    labels = LABELS[: len(candidates)]
    if any(label not in found for label in labels):
        raise BadCall("the server did not score every candidate")
    scores = [found[label] for label in labels]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    sure = len(order) < 2 or scores[order[0]] - scores[order[1]] >= margin
    choice = order[0] if sure else 0
    return ToolCalled(
        tool=candidates[choice].tool,
        args=candidates[choice].args,
        decided_by="model" if sure else "fallback",
        scores=list(scores),
        choice=choice,
    )


def _written(call: ToolCall, candidates: Sequence[Candidate]) -> ToolCalled:
    """A written call: it must be one of the candidates, which may leave arguments open."""
    choice = next((i for i, c in enumerate(candidates) if matches(call, c)), None)
    if candidates and choice is None:
        raise BadCall(f"{call.tool} with these arguments is not one of the valid actions")
    return ToolCalled(
        tool=call.tool,
        args=call.args,
        decided_by="model",
        scores=[None] * len(candidates),
        choice=choice,
    )


def _call_of(response: ModelResponse, tools: Sequence[ToolSchema], asking: Asking) -> ToolCall:
    if asking.strategy == "completion":
        return parse_functiongemma(response.text, tools)
    if asking.strategy == "grammar":
        return parse_json_call(response.text, tools)
    if response.call is None:
        raise BadCall("the answer holds no tool call")
    call = replace(response.call, args=decode_value(response.call.args))
    return validate_call(call, find_tool(call.tool, tools))
