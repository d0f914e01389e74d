"""One decision: from a packet to a tool call, by a rule where there is no choice, else by a model."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from remora.agents.candidates import declared_tools, is_complete, matches, narrowed
from remora.chat import Message, ToolCall, ToolSchema
from remora.errors import ConfigError, ModelError
from remora.memory.budget import Fit, fit, trim
from remora.memory.canonical import canonical_sha256
from remora.memory.events import Event, ModelRequest, ModelResponse, Payload
from remora.memory.packet import Candidate, DecisionPacket
from remora.memory.prompt import LABELS, Rendered, render
from remora.models import Answer, Decoding, Model, Request, Strategy, truncated
from remora.models.arguments import BadCall, checked, find_tool
from remora.models.functiongemma import parse_functiongemma
from remora.models.grammar import tool_call_grammar
from remora.models.parse import parse_json_call

Emit = Callable[[Payload, int], object]
"""Append a payload to the stream, in a turn."""
ANSWER_TOKENS = 200
"""Room for a written call; a ranked answer takes one token."""


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is asked: fixed for the whole life of an agent.

    `limit` is in tokens of the whole request; `margin` in nat between the two best candidates.
    """

    renderer: str
    strategy: Strategy
    limit: int
    margin: float = 1.0
    seed: int | None = None
    exact: bool = False


def model_record(model: Model, asking: Asking) -> dict[str, Any]:
    """What `agent_start` says of a model and of how it is asked."""
    return {**model.describe(), **msgspec.to_builtins(asking)}


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A call and who decided it."""

    call: ToolCall
    decided_by: str
    scores: list[float | None]
    choice: int | None
    packet_sha256: str
    trim: int


class NoDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Why a turn has no call: `bad_call`, `context_truncated` or `packet_too_large`."""

    kind: str
    message: str
    packet_sha256: str
    trim: int


def strategy_for(
    model: Model,
    renderer: str,
    decoding: Literal["auto", "rank", "grammar", "tool_call"],
    *,
    has_candidates: bool,
) -> Strategy:
    """How this model will be asked.

    Raises `ModelError` or `ConfigError` if it cannot answer as configured.
    """
    able = model.capabilities
    if renderer.startswith("functiongemma"):
        if decoding != "auto":
            raise ConfigError(
                f"model.decoding is {decoding}, but FunctionGemma writes its calls in its own way",
                hint="leave model.decoding at auto",
            )
        if not able.completions:
            raise ModelError(
                f"{model.name} has no plain completions, which the functiongemma renderer needs",
                hint="set model.renderer to lines or json",
            )
        return "completion"
    if decoding == "auto":
        if has_candidates and able.rank:
            return "rank"
        return "grammar" if able.grammar else "tool_call"
    if decoding == "rank" and not (has_candidates and able.rank):
        raise ModelError(
            f"{model.name} cannot rank candidates, or the agent has none",
            hint="set model.decoding to auto",
        )
    if decoding == "grammar" and not able.grammar:
        raise ModelError(f"{model.name} takes no grammar", hint="set model.decoding to auto")
    return decoding


def check_able(model: Model, strategy: Strategy) -> None:
    """Raise ModelError unless the model can be asked in this way."""
    able = model.capabilities
    can = {"rank": able.rank, "grammar": able.grammar, "completion": able.completions}
    if not can.get(strategy, True):
        raise ModelError(
            f"{model.name} cannot be asked by {strategy}, as the agent was until now",
            hint="use the model that the run began with, or fork the agent with --model",
        )


async def decide(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    asking: Asking,
    model: Model,
    emit: Emit,
    history: Sequence[Event] = (),
) -> Decision | NoDecision:
    """The next call. With one complete candidate no model is asked.

    `history` is what `history/1` renders, where that is asked for. Raises `ModelError` if the
    model cannot be asked at all.
    """
    only = packet.candidate_actions
    if len(only) == 1 and is_complete(only[0], tools):
        return Decision(
            call=ToolCall(tool=only[0].tool, args=only[0].args),
            decided_by="rule",
            scores=[None],
            choice=0,
            packet_sha256=canonical_sha256(packet),
            trim=0,
        )
    fitted = await asyncio.to_thread(_fit, packet, tools, asking, model, history)
    if not fitted.fits:
        return NoDecision(
            kind="packet_too_large",
            message=f"the smallest packet takes {fitted.tokens} tokens, {asking.limit} are allowed",
            packet_sha256=canonical_sha256(fitted.packet),
            trim=fitted.trim,
        )
    rendered = render(asking.renderer, fitted.packet, tools, asking.strategy, history)
    return await _ask(fitted, rendered, tools, asking, model, emit)


def _fit(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    asking: Asking,
    model: Model,
    history: Sequence[Event],
) -> Fit:
    """Runs in a thread: an exact counter may ask the server."""

    def measure(shown: DecisionPacket) -> int:
        declared = declared_tools(shown, tools) if asking.strategy == "tool_call" else ()
        rendered = render(asking.renderer, shown, tools, asking.strategy, history)
        if rendered.messages is not None:
            return model.counter.count_messages(rendered.messages, declared)
        return model.counter.count_text(rendered.prompt or "")

    return fit(packet, asking.limit, measure)


async def _ask(
    fitted: Fit,
    rendered: Rendered,
    tools: Sequence[ToolSchema],
    asking: Asking,
    model: Model,
    emit: Emit,
) -> Decision | NoDecision:
    shown = fitted.packet
    digest = canonical_sha256(shown)
    decoding = _decoding(shown, tools, asking)
    emit(
        ModelRequest(
            messages=_plain(rendered.messages),
            prompt=rendered.prompt,
            renderer=asking.renderer,
            decoding=msgspec.to_builtins(decoding),
            packet_sha256=digest,
            trim=fitted.trim,
            prompt_tokens=fitted.tokens,
        ),
        shown.turn,
    )
    answer = await model.ask(
        Request(messages=rendered.messages, prompt=rendered.prompt, decoding=decoding)
    )
    emit(_response(answer), shown.turn)
    asked = _Asked(packet=shown, sha256=digest, trim=fitted.trim, tokens=fitted.tokens)
    return _judged(answer, asked, tools, asking, exact=model.counter.exact)


def decided_by_record(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    asking: Asking,
    request: ModelRequest,
    response: ModelResponse,
    *,
    exact: bool,
) -> Decision | NoDecision:
    """What a recorded answer to a recorded request decides: no model is asked twice.

    `packet` is the one before it was trimmed; `exact` says whether tokens were counted as the
    server counts them.
    """
    asked = _Asked(
        packet=trim(packet, request.trim),
        sha256=request.packet_sha256,
        trim=request.trim,
        tokens=request.prompt_tokens,
    )
    answer = Answer(
        text=response.text,
        call=response.call,
        scores=response.scores or {},
        usage=response.usage,
        finish_reason=response.finish_reason,
    )
    return _judged(answer, asked, tools, asking, exact=exact)


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a model was shown: the trimmed packet, its hash, and the tokens of the request."""

    packet: DecisionPacket
    sha256: str
    trim: int
    tokens: int


def _judged(
    answer: Answer, asked: _Asked, tools: Sequence[ToolSchema], asking: Asking, *, exact: bool
) -> Decision | NoDecision:
    if truncated(asked.tokens, exact=exact, usage=answer.usage):
        message = (
            f"the server read {answer.usage.prompt_tokens} of {asked.tokens} prompt tokens: "
            "its context is smaller than it says"
        )
        return NoDecision(
            kind="context_truncated", message=message, packet_sha256=asked.sha256, trim=asked.trim
        )
    try:
        chosen = _chosen(answer, asked.packet, tools, asking)
    except BadCall as bad:
        return NoDecision(
            kind="bad_call", message=bad.message, packet_sha256=asked.sha256, trim=asked.trim
        )
    return replace(chosen, packet_sha256=asked.sha256, trim=asked.trim)


def _plain(messages: tuple[Message, ...] | None) -> list[dict[str, Any]] | None:
    return None if messages is None else [msgspec.to_builtins(message) for message in messages]


def _decoding(shown: DecisionPacket, tools: Sequence[ToolSchema], asking: Asking) -> Decoding:
    base = Decoding(
        strategy=asking.strategy,
        max_tokens=ANSWER_TOKENS,
        seed=asking.seed,
        cache_prompt=not asking.exact,
    )
    if asking.strategy == "rank":
        labels = LABELS[: len(shown.candidate_actions)]
        return replace(base, labels=labels, max_tokens=1)
    if asking.strategy == "grammar":
        return replace(base, grammar=tool_call_grammar(narrowed(tools, shown.candidate_actions)))
    if asking.strategy == "completion":
        return replace(base, stop=("<end_of_turn>", "<start_function_response>"))
    return replace(base, tools=declared_tools(shown, tools))


def _response(answer: Answer) -> ModelResponse:
    return ModelResponse(
        text=answer.text,
        call=answer.call,
        scores=answer.scores or None,
        usage=answer.usage,
        finish_reason=answer.finish_reason,
        raw=answer.raw,
    )


def _chosen(
    answer: Answer, shown: DecisionPacket, tools: Sequence[ToolSchema], asking: Asking
) -> Decision:
    if asking.strategy == "rank":
        return _ranked(answer, shown.candidate_actions, asking.margin)
    return _called(_call_of(answer, tools, asking), shown.candidate_actions)


def _call_of(answer: Answer, tools: Sequence[ToolSchema], asking: Asking) -> ToolCall:
    if asking.strategy == "completion":
        return parse_functiongemma(answer.text, tools)
    if asking.strategy == "tool_call":
        if answer.call is None:
            raise BadCall("the answer holds no tool call")
        return checked(answer.call, find_tool(answer.call.tool, tools))
    return parse_json_call(answer.text, tools)


def _ranked(answer: Answer, candidates: Sequence[Candidate], margin: float) -> Decision:
    """The best candidate, or the first where the best two are closer than `margin`."""
    labels = LABELS[: len(candidates)]
    if any(label not in answer.scores for label in labels):
        raise BadCall("the server did not score every candidate")
    scores = [answer.scores[label] for label in labels]
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    sure = len(order) < 2 or scores[order[0]] - scores[order[1]] >= margin
    choice = order[0] if sure else 0
    return Decision(
        call=ToolCall(tool=candidates[choice].tool, args=candidates[choice].args),
        decided_by="model" if sure else "fallback",
        scores=list(scores),
        choice=choice,
        packet_sha256="",
        trim=0,
    )


def _called(call: ToolCall, candidates: Sequence[Candidate]) -> Decision:
    """A written call: it must be one of the candidates, which may leave arguments open."""
    choice = next((i for i, c in enumerate(candidates) if matches(call, c)), None)
    if candidates and choice is None:
        raise BadCall(f"{call.tool} with these arguments is not one of the valid actions")
    return Decision(
        call=call,
        decided_by="model",
        scores=[None] * len(candidates),
        choice=choice,
        packet_sha256="",
        trim=0,
    )
