"""The `Model` protocol: request, answer, decoding settings, capabilities, token counter."""

from typing import Any, Literal, Protocol

import msgspec

from remora.chat import Message, ToolCall, ToolSchema, Usage

Strategy = Literal["rank", "grammar", "tool_call", "completion", "rules"]


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """Decoding settings of one request.

    `rank` needs `labels`, which are single capital letters. `grammar` needs a `grammar` in GBNF,
    and `tool_call` needs `tools`. `completion` is free text that ends before any of the strings in
    `stop`, and may contain FunctionGemma's special tokens.
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
    """A request with either chat `messages` or one complete `prompt`, never both."""

    decoding: Decoding
    messages: tuple[Message, ...] | None = None
    prompt: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer.

    `scores` maps each label to its natural-log probability, only with `rank`. `call` is set with
    `tool_call`; its arguments are not validated yet. `raw` is the server's JSON.
    """

    text: str
    call: ToolCall | None = None
    scores: dict[str, float] = {}
    usage: Usage = Usage()
    finish_reason: str | None = None
    model: str = ""
    raw: dict[str, Any] = {}


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Abilities of a server, found by probing it and never guessed from a name."""

    rank: bool = False
    grammar: bool = False
    completions: bool = False
    tokenize: bool = False


class TokenCounter(Protocol):
    """Token counter for requests. It is synchronous, so call it from a worker thread."""

    @property
    def name(self) -> str:
        """Name for streams, such as `tokenizer/SmolLM2-135M-Instruct` or `upper-bound/1`."""

    @property
    def exact(self) -> bool:
        """True if counts equal the server's counts; otherwise they are never lower."""

    def count_messages(
        self, messages: tuple[Message, ...], tools: tuple[ToolSchema, ...] = ()
    ) -> int:
        """Return the number of tokens in a chat request, including its template and tools."""

    def count_text(self, prompt: str) -> int:
        """Return the number of tokens in a complete prompt."""


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
        """Maximum tokens in a request and its answer, or None if the server does not report it."""

    @property
    def counter(self) -> TokenCounter:
        """Counts the tokens of a request."""

    def describe(self) -> dict[str, Any]:
        """Return the JSON data that identifies the model in a stream.

        The data contains the provider and the name, but no secrets.
        """

    async def ask(self, request: Request) -> Answer:
        """Send a request and return the answer. Raises ModelError.

        Raises ContextTooLarge before sending a request that does not fit into the context.
        """

    async def aclose(self) -> None:
        """Close connections and processes. May be called more than once."""


def without_cache(request: Request) -> Request:
    """Return the request without the prompt cache, so that a seed reproduces its answer."""
    decoding = msgspec.structs.replace(request.decoding, cache_prompt=False)
    return msgspec.structs.replace(request, decoding=decoding)


def is_truncated(counted: int, *, exact: bool, usage: Usage) -> bool:
    """Return True if the server counted so few tokens that it must have truncated the request.

    If `counted` is an upper bound, it may be several times the true count. So the request is only
    considered truncated if the server reports less than a fifth of `counted`.
    """
    if usage.prompt_tokens is None:
        return False
    return usage.prompt_tokens < (counted if exact else counted / 5)
