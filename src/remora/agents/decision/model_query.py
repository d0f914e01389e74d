"""Asks a model for the next call, and records the request and the answer."""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from remora.agents.decision.query_settings import QuerySettings, Rung
from remora.agents.decision.strategies import STRATEGIES, letter_decoding
from remora.chat import Answer, ToolSchema, answer_form
from remora.errors import ContextTooLarge
from remora.memory.budget import FittedPacket, fit
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentError, ModelRequest, ModelResponse, Payload
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import RenderedRequest, callable_tools
from remora.memory.prompt.history import Step
from remora.memory.prompt.history_messages import later_steps
from remora.memory.prompt.render import answerable_calls, lettered_answers, reads_history, render
from remora.models.protocol import Decoding, Request, Strategy, TokenCounter
from remora.threads import run_in_thread

_WARMER, _WARMEST = 0.4, 0.8
"""Temperature that each refused answer adds, and the highest. Decision: to be measured by attempts."""


class Recorder(NamedTuple):
    """Functions that append a payload to the stream, in a turn, flush it, and redact answers."""

    emit: Callable[[Payload, int], object]
    flush: Callable[[], None]
    clean: Callable[[Answer], Answer]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model."""

    strategy: Strategy
    instructions: str = ""
    """The agent's own instructions."""
    history: Sequence[Step]
    """The steps that renderers of the history show."""
    omitted_events: int = 0
    model: str = ""
    """Recorded if it is not the agent's own model."""
    attempt: int = 0
    """How many answers in a row were refused. The next one is sampled in another way."""

    def render(
        self, renderer: str, shown: DecisionPacket, tools: Sequence[ToolSchema]
    ) -> RenderedRequest:
        history = later_steps(self.history, self.omitted_events)
        return render(renderer, shown, tools, self.strategy, history, self.instructions)


async def query_model(
    packet: DecisionPacket,
    tools: Sequence[ToolSchema],
    rung: Rung,
    recorder: Recorder,
    question: Question,
) -> AgentError | None:
    """Ask the model for the next call, and record the request and the answer.

    The packet is trimmed to fit the token limit. If the server says that the request is too large,
    it is asked once more with half of the tokens. Returns an error if even the smallest packet is
    too large, unless only its bytes are known. Raises `ModelError` if the request fails.
    """
    fitted, asked = await asyncio.to_thread(_fit, packet, tools, rung, question)
    try:
        return await _ask(fitted, tools, rung, recorder, asked)
    except ContextTooLarge:
        half = msgspec.structs.replace(rung.settings, limit=fitted.tokens // 2)
        smaller, asked = await asyncio.to_thread(
            _fit, packet, tools, Rung(rung.model, half), question
        )
        if smaller.tokens >= fitted.tokens:
            raise
        return await _ask(smaller, tools, rung, recorder, asked)


def _fit(
    packet: DecisionPacket, tools: Sequence[ToolSchema], rung: Rung, question: Question
) -> tuple[FittedPacket, Question]:
    """Return the packet, and the question without the steps, that fit the limit.

    It may query the server.
    """
    model, settings = rung

    def measure(shown: DecisionPacket, asked: Question) -> int:
        return request_tokens(model.counter, shown, tools, settings.renderer, asked)

    if reads_history(settings.renderer):
        question = _with_history(question, lambda tried: measure(packet, tried) <= settings.limit)
    return fit(packet, settings.limit, lambda shown: measure(shown, question)), question


async def _ask(
    fitted: FittedPacket,
    tools: Sequence[ToolSchema],
    rung: Rung,
    recorder: Recorder,
    question: Question,
) -> AgentError | None:
    (model, settings), shown = rung, fitted.packet
    most = max(settings.limit, settings.most)
    if fitted.tokens > most and model.counter.basis != "bytes":
        return AgentError(
            kind="packet_too_large",
            message=f"the smallest packet has {fitted.tokens} tokens (maximum {most})",
            hint="serve the model with a larger context, or raise runner.memory.packet_size_limit",
            packet_sha256=canonical_sha256(shown),
            trim=fitted.trim,
        )
    rendered = question.render(settings.renderer, shown, tools)
    decoding = _decoding(shown, tools, settings, question)
    if model.capabilities.thinks:
        tokens = decoding.max_tokens + settings.thinking_tokens
        decoding = msgspec.structs.replace(decoding, max_tokens=tokens)
    least = int(fitted.tokens * model.counter.least)
    recorder.emit(_request_event(fitted, least, rendered, decoding, question, settings), shown.turn)
    await run_in_thread(recorder.flush)  # the model sees nothing that could be lost
    answer = await model.ask(
        Request(messages=rendered.messages, prompt=rendered.prompt, decoding=decoding)
    )
    response = ModelResponse(**msgspec.structs.asdict(recorder.clean(answer)))
    recorder.emit(response, shown.turn)
    return None


def _with_history(question: Question, fits: Callable[[Question], bool]) -> Question:
    """Leave out as few of the oldest steps as possible, so that the request fits the limit."""

    def without(steps: int) -> Question:
        return msgspec.structs.replace(question, omitted_events=steps)

    counts = range(len(question.history))
    return without(bisect_left(counts, True, key=lambda steps: fits(without(steps))))


def request_tokens(
    counter: TokenCounter,
    shown: DecisionPacket,
    tools: Sequence[ToolSchema],
    renderer: str,
    question: Question,
) -> int:
    """Return the number of tokens in a request."""
    rendered = question.render(renderer, shown, tools)
    if rendered.messages is None:
        return counter.count_text(rendered.prompt or "")
    declared: Sequence[ToolSchema] = ()
    if answer_form(question.strategy).declares_tools:
        base = Decoding(strategy=question.strategy)
        declared = STRATEGIES[question.strategy].constrain(base, callable_tools(shown, tools)).tools
    return counter.count_messages(rendered.messages, tuple(declared))


def _decoding(
    shown: DecisionPacket,
    tools: Sequence[ToolSchema],
    settings: QuerySettings,
    question: Question,
) -> Decoding:
    base = Decoding(
        strategy=question.strategy,
        max_tokens=settings.answer_tokens,
        temperature=min(question.attempt * _WARMER, _WARMEST),
        seed=None if settings.seed is None else settings.seed + question.attempt,
        cache_prompt=not settings.exact,
    )
    if letters := lettered_answers(settings.renderer, shown, tools):
        return letter_decoding(base, letters)
    offered = answerable_calls(settings.renderer, shown, tools)
    return STRATEGIES[question.strategy].constrain(base, offered)


def _request_event(
    fitted: FittedPacket,
    least: int,
    rendered: RenderedRequest,
    decoding: Decoding,
    question: Question,
    settings: QuerySettings,
) -> ModelRequest:
    messages = rendered.messages
    return ModelRequest(
        messages=None
        if messages is None
        else [msgspec.to_builtins(message) for message in messages],
        prompt=rendered.prompt,
        renderer=settings.renderer,
        decoding=msgspec.to_builtins(decoding),
        packet_sha256=canonical_sha256(fitted.packet),
        trim=fitted.trim,
        prompt_tokens=fitted.tokens,
        least_tokens=least,
        model=question.model,
        omitted_events=question.omitted_events,
    )
