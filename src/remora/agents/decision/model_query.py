"""Asks a model for the next call, and records the request and the answer."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from remora.agents.decision.candidates import declared_tools
from remora.agents.decision.query_settings import ANSWER_TOKENS, QuerySettings
from remora.chat import ToolSchema, answer_form
from remora.memory.budget import FittedPacket, fit
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentError, Event, ModelRequest, ModelResponse, Payload
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.render import render
from remora.models.protocol import Answer, Decoding, Model, Request, TokenCounter

Emit = Callable[[Payload, int], object]
"""Append a payload to the stream, in a turn."""


async def query_model(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    settings: QuerySettings,
    model: Model,
    emit: Emit,
    history: Sequence[Event] = (),
) -> AgentError | None:
    """Ask the model for the next call, and record the request and the answer.

    The packet is trimmed to fit the token limit. Returns an error if even the smallest packet is
    too large. `history` contains the events shown by the `history/1` renderer. Raises `ModelError`
    if the request fails.
    """

    def measure(shown: DecisionPacket) -> int:  # in a thread: it may query the server
        way = settings.renderer, settings.strategy
        return request_tokens(model.counter, shown, tools, way, history)

    fitted = await asyncio.to_thread(fit, packet, settings.limit, measure, settings.trim)
    shown = fitted.packet
    if not fitted.fits:
        return AgentError(
            kind="packet_too_large",
            message=f"the smallest packet has {fitted.tokens} tokens (maximum {settings.limit})",
            packet_sha256=canonical_sha256(shown),
            trim=fitted.trim,
        )
    rendered = render(settings.renderer, shown, tools, settings.strategy, history)
    decoding = _decoding(shown, tools, settings)
    emit(_request_event(fitted, rendered, decoding, settings), shown.turn)
    answer = await model.ask(
        Request(messages=rendered.messages, prompt=rendered.prompt, decoding=decoding)
    )
    emit(_response_event(answer), shown.turn)
    return None


def request_tokens(
    counter: TokenCounter,
    shown: DecisionPacket,
    tools: Sequence[ToolSchema],
    way: tuple[str, str],
    history: Sequence[Event],
) -> int:
    """Return the number of tokens in a request. `way` is a `(renderer, strategy)` pair."""
    renderer, strategy = way
    rendered = render(renderer, shown, tools, strategy, history)
    if rendered.messages is None:
        return counter.count_text(rendered.prompt or "")
    declared = declared_tools(shown, tools) if answer_form(strategy).declares_tools else ()
    return counter.count_messages(rendered.messages, declared)


def _decoding(
    shown: DecisionPacket, tools: Sequence[ToolSchema], settings: QuerySettings
) -> Decoding:
    base = Decoding(
        strategy=settings.strategy,
        max_tokens=ANSWER_TOKENS,
        seed=settings.seed,
        cache_prompt=not settings.exact,
    )
    return settings.decision.constrain(base, shown, tools)


def _request_event(
    fitted: FittedPacket, rendered: RenderedRequest, decoding: Decoding, settings: QuerySettings
) -> ModelRequest:
    messages = rendered.messages
    return ModelRequest(
        messages=None if messages is None else [msgspec.to_builtins(one) for one in messages],
        prompt=rendered.prompt,
        renderer=settings.renderer,
        decoding=msgspec.to_builtins(decoding),
        packet_sha256=canonical_sha256(fitted.packet),
        trim=fitted.trim,
        prompt_tokens=fitted.tokens,
    )


def _response_event(answer: Answer) -> ModelResponse:
    return ModelResponse(
        text=answer.text,
        call=answer.call,
        scores=answer.scores or None,
        usage=answer.usage,
        finish_reason=answer.finish_reason,
        raw=answer.raw,
    )
