"""Decides by rule, or from a model's answer."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from remora.agents.builtin_tools import NEEDS_MODEL, SUBMIT
from remora.agents.decision.candidates import is_complete
from remora.agents.decision.strategies import SHAPES, STRATEGIES, read_letter
from remora.chat import ToolCall, ToolSchema
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentError, ModelRequest, ModelResponse, ToolCalled
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import callable_tools
from remora.memory.prompt.guided import offered_calls
from remora.memory.prompt.render import GUIDED, lettered_answers
from remora.models.decoding.call_validation import BadCall, granted_call, unknown_tool


class Exchange(NamedTuple):
    """A request, its answer, and the packet that the request showed."""

    request: ModelRequest
    response: ModelResponse
    shown: DecisionPacket


Decision = ToolCalled | AgentError
"""The turn's call, or the error that prevented one."""


def decide_without_model(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> ToolCalled:
    """Choose the first complete candidate, because scripts list the safest candidate first.

    If no candidate is complete, return a call that submits the changes made so far.
    """
    offered = enumerate(packet.candidate_actions)
    complete = ((place, call) for place, call in offered if is_complete(call, tools))
    index, chosen = next(complete, (None, None))
    return ToolCalled(
        tool=SUBMIT if chosen is None else chosen.tool,
        args={"summary": NEEDS_MODEL} if chosen is None else chosen.args,
        decided_by="rule",
        candidates=len(packet.candidate_actions),
        choice=index,
        packet_sha256=canonical_sha256(packet),
        trim=0,
    )


def decide_by_answer(exchange: Exchange, tools: Sequence[ToolSchema]) -> Decision:
    """Derive the decision from a recorded request and its answer.

    Returns an error of kind `bad_call` if the answer is not a valid call, or of kind
    `context_truncated` if the server did not read the whole prompt. A count says nothing of that
    if it may leave out what was cached.
    """
    request, response = exchange.request, exchange.response
    read = response.usage.prompt_tokens
    has_cached = response.usage.evaluated is not None
    if has_cached and read and read < request.least_tokens:
        message = (
            f"the server says that it read {read:,} of at least {request.least_tokens:,} "
            "prompt tokens: its context is smaller than it reports, or its count is wrong"
        )
        return _error("context_truncated", message, request)
    try:
        chosen = _chosen(exchange, tools)
    except BadCall as bad:
        message = bad.message
        if bad.call is not None and all(tool.name != bad.call.tool for tool in tools):
            declared = callable_tools(exchange.shown, tools)
            message = unknown_tool(bad.call.tool, (tool.name for tool in declared))
        error = replace(_error("bad_call", message, request), call=bad.call)
        return error if bad.call is not None else _with_cause(error, request, response)
    return replace(chosen, packet_sha256=request.packet_sha256, trim=request.trim)


def _with_cause(error: AgentError, request: ModelRequest, response: ModelResponse) -> AgentError:
    """Say if there is no call because the answer was cut, or is nothing but thinking."""
    thinks, most = response.thinking, request.decoding.get("max_tokens")
    if (response.finish_reason or "").lower() in ("length", "max_tokens"):
        cut = f"the answer was cut at {most} tokens{' of thinking' if thinks else ''}"
        hint = "raise model.max_output_tokens" + (", or turn its thinking off" if thinks else "")
        return replace(error, message=f"{error.message}; {cut}", hint=hint)
    if response.finish_reason == "content_filter":
        return replace(error, message="the server withheld the answer (content_filter)")
    if thinks and not response.text.strip():
        return replace(error, message="the answer is only thinking, and has no tool call")
    return error


def ignores_shape(exchange: Exchange, error: AgentError) -> bool:
    """Return True if an answer is not a call, although a grammar or a schema allows nothing else."""
    is_prose = error.kind == "bad_call" and error.call is None
    has_shape = exchange.request.decoding["strategy"] in SHAPES
    return is_prose and has_shape and exchange.response.finish_reason != "length"


def _chosen(exchange: Exchange, tools: Sequence[ToolSchema]) -> ToolCalled:
    """Return the call that an answer makes, or that its letter names."""
    request, response, shown = exchange
    offered = shown.candidate_actions
    if letters := lettered_answers(request.renderer, shown, tools):
        choice = read_letter(response.text, letters)
        return ToolCalled(
            tool=choice.tool,
            args=choice.args,
            decided_by="model",
            candidates=len(offered),
            choice=offered.index(choice),
        )
    chosen = STRATEGIES[request.decoding["strategy"]].read(response, offered, tools)
    if request.renderer == GUIDED:
        _check_offered(chosen, shown, tools)
    return chosen


def _check_offered(chosen: ToolCalled, shown: DecisionPacket, tools: Sequence[ToolSchema]) -> None:
    """Raise BadCall if a call is not a suggestion, or fills it in with more than it allows.

    Servers may ignore a grammar.
    """
    offered = offered_calls(shown, tools)
    if not offered:
        return
    call = ToolCall(tool=chosen.tool, args=chosen.args)
    if chosen.choice is None:
        bad = BadCall(f"{chosen.tool}: not one of the answers")
        bad.call = call
        raise bad
    granted_call(call, [offered[chosen.choice]])


def _error(kind: str, message: str, request: ModelRequest) -> AgentError:
    return AgentError(
        kind=kind, message=message, packet_sha256=request.packet_sha256, trim=request.trim
    )
