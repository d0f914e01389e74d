"""A model asked for the next call: the packet made to fit, request and answer on record."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from remora.agents.decision.candidates import declared_tools, narrowed
from remora.agents.decision.query_settings import ANSWER_TOKENS, Asking
from remora.chat import ToolSchema
from remora.memory.budget import FittedPacket, fit
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentError, Event, ModelRequest, ModelResponse, Payload
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import LABELS, RenderedRequest
from remora.memory.prompt.render import render
from remora.models.decoding.grammar import tool_call_grammar
from remora.models.protocol import Answer, Decoding, Model, Request

Emit = Callable[[Payload, int], object]
"""Append a payload to the stream, in a turn."""


async def ask(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    asking: Asking,
    model: Model,
    emit: Emit,
    history: Sequence[Event] = (),
) -> AgentError | None:
    """Ask, with request and answer in the stream; or why nothing could be asked.

    `history` is what `history/1` renders, where that is asked for. Raises `ModelError` if the
    model cannot be asked at all.
    """
    fitted = await asyncio.to_thread(_fit, packet, tools, asking, model, history)
    shown = fitted.packet
    if not fitted.fits:
        return AgentError(
            kind="packet_too_large",
            message=f"the smallest packet takes {fitted.tokens} tokens, {asking.limit} are allowed",
            packet_sha256=canonical_sha256(shown),
            trim=fitted.trim,
        )
    rendered = render(asking.renderer, shown, tools, asking.strategy, history)
    decoding = _decoding(shown, tools, asking)
    emit(_request(fitted, rendered, decoding, asking), shown.turn)
    answer = await model.ask(
        Request(messages=rendered.messages, prompt=rendered.prompt, decoding=decoding)
    )
    emit(_response(answer), shown.turn)
    return None


def _fit(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    asking: Asking,
    model: Model,
    history: Sequence[Event],
) -> FittedPacket:
    """Runs in a thread: an exact counter may ask the server."""

    def measure(shown: DecisionPacket) -> int:
        declared = declared_tools(shown, tools) if asking.strategy == "tool_call" else ()
        rendered = render(asking.renderer, shown, tools, asking.strategy, history)
        if rendered.messages is not None:
            return model.counter.count_messages(rendered.messages, declared)
        return model.counter.count_text(rendered.prompt or "")

    return fit(packet, asking.limit, measure)


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


def _request(
    fitted: FittedPacket, rendered: RenderedRequest, decoding: Decoding, asking: Asking
) -> ModelRequest:
    messages = rendered.messages
    return ModelRequest(
        messages=None if messages is None else [msgspec.to_builtins(one) for one in messages],
        prompt=rendered.prompt,
        renderer=asking.renderer,
        decoding=msgspec.to_builtins(decoding),
        packet_sha256=canonical_sha256(fitted.packet),
        trim=fitted.trim,
        prompt_tokens=fitted.tokens,
    )


def _response(answer: Answer) -> ModelResponse:
    return ModelResponse(
        text=answer.text,
        call=answer.call,
        scores=answer.scores or None,
        usage=answer.usage,
        finish_reason=answer.finish_reason,
        raw=answer.raw,
    )
