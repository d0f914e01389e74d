"""The `Model` protocol: request, answer, decoding settings, capabilities, token counter."""

from typing import Any, Literal, Protocol

import msgspec

from remora.chat import Message, ToolCall, ToolSchema, Usage

Strategy = Literal["rank", "grammar", "tool_call", "completion", "rules"]


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """Decoding settings of one request.

    `rank` needs `labels` (one capital letter each), `grammar` GBNF, `tool_call` `tools`;
    `completion` is free text up to `stop`, with FunctionGemma's tokens.
    """

    strategy: Strategy
    labels: tuple[str, ...] = ()
    grammar: str | None = None
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    cache_prompt: bool = True
    tools: tuple[ToolSchema, ...] = ()


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request: either chat `messages` or one finished `prompt`, never both."""

    decoding: Decoding
    messages: tuple[Message, ...] | None = None
    prompt: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer.

    `scores` (rank only) maps each label to its natural-log probability. `call` is set by
    `tool_call`, its arguments not yet validated. `raw` is the server's JSON.
    """

    text: str
    call: ToolCall | None = None
    scores: dict[str, float] = {}
    usage: Usage = Usage()
    finish_reason: str | None = None
    model: str = ""
    raw: dict[str, Any] = {}


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Abilities of a server, found by probing it, never guessed from a name."""

    rank: bool = False
    grammar: bool = False
    completions: bool = False
    tokenize: bool = False


class TokenCounter(Protocol):
    """Token counter of a request. Synchronous: call it from a worker thread."""

    @property
    def name(self) -> str:
        """Name in the stream, such as `tokenizer/SmolLM2-135M-Instruct` or `upper-bound/1`."""

    @property
    def exact(self) -> bool:
        """True if it equals the server's own count; otherwise it is never below that."""

    def count_messages(
        self, messages: tuple[Message, ...], tools: tuple[ToolSchema, ...] = ()
    ) -> int:
        """Return the tokens of a chat request, template and declared tools included."""

    def count_text(self, prompt: str) -> int:
        """Return the tokens of a finished prompt."""


class Model(Protocol):
    """A model. Every failure is a `ModelError`."""

    @property
    def name(self) -> str:
        """The model's name on its server."""

    @property
    def capabilities(self) -> Capabilities:
        """Abilities of the server."""

    @property
    def context(self) -> int | None:
        """Maximum tokens of a request and its answer; None if the server does not report it."""

    @property
    def counter(self) -> TokenCounter:
        """Counts the tokens of a request."""

    def describe(self) -> dict[str, Any]:
        """Return JSON for the stream: provider, name and what else identifies the model; no secret."""

    async def ask(self, request: Request) -> Answer:
        """Return one answer. Raises ModelError; ContextTooLarge before a request that cannot fit."""

    async def aclose(self) -> None:
        """Close connections and processes; may be called twice."""


def without_cache(request: Request) -> Request:
    """Return the request without the prompt cache, so that a seed reproduces its answer."""
    decoding = msgspec.structs.replace(request.decoding, cache_prompt=False)
    return msgspec.structs.replace(request, decoding=decoding)


def is_truncated(counted: int, *, exact: bool, usage: Usage) -> bool:
    """True if the server counted so few tokens that it must have cut the request.

    An upper bound is up to several times the true count, so only a fifth of it is suspicious.
    """
    if usage.prompt_tokens is None:
        return False
    return usage.prompt_tokens < (counted if exact else counted / 5)
