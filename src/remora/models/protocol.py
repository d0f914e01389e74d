"""What a model is to the rest of Remora: a request in, an answer out, and a count of tokens."""

from typing import Any, Literal, Protocol

import msgspec

from remora.chat import Message, ToolCall, ToolSchema, Usage

Strategy = Literal["rank", "grammar", "tool_call", "completion", "rules"]


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """How one answer is to be made.

    `rank` needs `labels` (one capital letter each), `grammar` needs `grammar` (GBNF),
    `tool_call` needs `tools`; `completion` is free text up to `stop`, FunctionGemma's tokens shown.
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
    """What is sent: either chat `messages` or one finished `prompt`, never both."""

    decoding: Decoding
    messages: tuple[Message, ...] | None = None
    prompt: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back.

    `scores` (rank only) maps each label to its natural-log probability among the labels.
    `call` is set by the `tool_call` strategy only; its arguments are not validated yet.
    `raw` is the server's body as decoded JSON, for the record.
    """

    text: str
    call: ToolCall | None = None
    scores: dict[str, float] = {}
    usage: Usage = Usage()
    finish_reason: str | None = None
    model: str = ""
    raw: dict[str, Any] = {}


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What the server was seen to do (asked of the server, never guessed from a name)."""

    rank: bool = False
    grammar: bool = False
    completions: bool = False
    tokenize: bool = False


class TokenCounter(Protocol):
    """Counts a request's tokens. Synchronous: call it from a worker thread."""

    @property
    def name(self) -> str:
        """Recorded name, such as `tokenizer/SmolLM2-135M-Instruct` or `upper-bound/1`."""

    @property
    def exact(self) -> bool:
        """True: equals the server's own count. False: never below it."""

    def count_messages(
        self, messages: tuple[Message, ...], tools: tuple[ToolSchema, ...] = ()
    ) -> int:
        """Tokens of a chat request, template and declared tools included."""

    def count_text(self, prompt: str) -> int:
        """Tokens of a finished prompt."""


class Model(Protocol):
    """A model that can be asked. Every failure is a `ModelError`."""

    @property
    def name(self) -> str:
        """The model's name as the server knows it."""

    @property
    def capabilities(self) -> Capabilities:
        """What this server can do."""

    @property
    def context(self) -> int | None:
        """Tokens that one request and its answer may have; null where the server does not say."""

    @property
    def counter(self) -> TokenCounter:
        """Counts what a request would cost."""

    def describe(self) -> dict[str, Any]:
        """JSON for the record: provider, name and what else identifies the model; no secret."""

    async def ask(self, request: Request) -> Answer:
        """One answer. Raises ModelError; ContextTooLarge before a request that cannot fit."""

    async def aclose(self) -> None:
        """Let go of connections and processes; may be called twice."""


def without_cache(request: Request) -> Request:
    """The same request, its prompt evaluated anew: only so a seed gives the same answer again."""
    decoding = msgspec.structs.replace(request.decoding, cache_prompt=False)
    return msgspec.structs.replace(request, decoding=decoding)


def is_truncated(counted: int, *, exact: bool, usage: Usage) -> bool:
    """Whether the server must have cut the request: it counted fewer tokens than we sent.

    An upper bound is up to several times the true count, so only a fifth of it is suspicious.
    """
    if usage.prompt_tokens is None:
        return False
    return usage.prompt_tokens < (counted if exact else counted / 5)
