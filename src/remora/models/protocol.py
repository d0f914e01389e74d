"""The `Model` protocol and its types, such as requests, answers and token counters."""

from typing import Any, Literal, Protocol

import msgspec

from remora.chat import Answer, Message, ToolSchema
from remora.errors import ModelError
from remora.models.token_counters import Basis, UpperBound

Strategy = Literal[
    "grammar", "tool_call", "string_tool_call", "json_schema", "text", "completion", "rules"
]


class Decoding(msgspec.Struct, frozen=True, kw_only=True):
    """Decoding settings of a request.

    `grammar` needs a `grammar` in GBNF, `json_schema` a JSON Schema in its place, and `tool_call`
    needs `tools`. `string_tool_call` needs `tools` whose arguments are all strings. `text` and
    `completion` produce free text, which stops before any of the strings in `stop`. With
    `completion` it may contain FunctionGemma's special tokens. A server that can also reports the
    log-probabilities of the `logprobs` most probable tokens.
    """

    strategy: Strategy
    grammar: str | None = None
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    cache_prompt: bool = True
    tools: tuple[ToolSchema, ...] = ()
    logprobs: int = 0


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request with either chat `messages` or a complete `prompt`, but never both."""

    decoding: Decoding
    messages: tuple[Message, ...] | None = None
    prompt: str | None = None


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Capabilities of a server, determined by probing it and never inferred from a name."""

    grammar: bool = False
    completions: bool = False
    tokenize: bool = False
    tools: bool = False
    """True if the server takes tools and shows them to the model."""
    json_schema: bool = False
    thinks: bool = False
    """True if the model was seen to think, which takes tokens of its answers."""


class TokenCounter(Protocol):
    """Counts the tokens of requests. It is synchronous, so call it from a worker thread."""

    @property
    def name(self) -> str:
        """Name for use in streams, such as `tokenizer/SmolLM2-135M-Instruct` or `upper-bound/1`."""

    @property
    def basis(self) -> Basis:
        """Basis of the counts. Those of `bytes` may be several times the true counts."""

    @property
    def rate(self) -> float:
        """About how many tokens a byte counts as."""

    @property
    def least(self) -> float:
        """Share of a count that the server must report if it reads the whole request."""

    def count_messages(
        self, messages: tuple[Message, ...], tools: tuple[ToolSchema, ...] = ()
    ) -> int:
        """Return the number of tokens in a chat request, including its template and tools."""

    def count_text(self, prompt: str) -> int:
        """Return the number of tokens in a complete prompt."""


class Model(Protocol):
    """A model. All failures are raised as `ModelError`."""

    @property
    def name(self) -> str:
        """The model's name on its server."""

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the server."""

    @property
    def context(self) -> int | None:
        """Maximum number of tokens in a request and its answer, or None if unknown."""

    @property
    def counter(self) -> TokenCounter:
        """Token counter for requests to this model."""

    def describe(self) -> dict[str, Any]:
        """Return the JSON data that identifies the model in a stream.

        The data contains the provider and the name, but no secrets.
        """

    async def ask(self, request: Request) -> Answer:
        """Send a request and return the answer.

        Raises ContextTooLarge, before sending anything, if the request does not fit the context.
        Raises ModelError if the request fails.
        """

    async def aclose(self) -> None:
        """Close all connections and processes. Can be called more than once."""


def without_cache(request: Request) -> Request:
    """Return the request with the prompt cache disabled, so that a seed reproduces its answer."""
    decoding = msgspec.structs.replace(request.decoding, cache_prompt=False)
    return msgspec.structs.replace(request, decoding=decoding)


MCP = "mcp"
"""The recorded provider of clients of the MCP server that decide in place of a model."""
NAME = "none"
"""The recorded name of the model, and the value of `--model none`."""


class NoModel:
    """A `Model` that fails every request. Its `hint` explains how to add a model."""

    name = NAME
    context: int | None = None
    capabilities = Capabilities()

    def __init__(self, hint: str = "") -> None:
        self.hint = hint
        self.counter: TokenCounter = UpperBound()

    def describe(self) -> dict[str, Any]:
        """Return the data that identifies the model in a stream."""
        return {"provider": "none", "name": self.name, "counter": self.counter.name}

    async def ask(self, request: Request) -> Answer:  # noqa: ARG002 (signature of Model)
        raise ModelError("no model is available", hint=self.hint)

    async def aclose(self) -> None:
        """Do nothing, because there are no connections."""
