"""Token counters: the server's tokenizer, the usage of its earlier answers, or bytes."""

import json
import math
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from remora.chat import Message, ToolSchema
from remora.errors import ModelError

PostJson = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Posts a JSON body to a path of the server and returns the JSON response. Raises ModelError."""
_Kind = TypeVar("_Kind")

Basis = Literal["tokenizer", "usage", "bytes"]
"""Basis of a count."""
PER_MESSAGE = 16
PER_REQUEST = 64
MARGIN = 1.25
"""The next request may have this many times the tokens per byte of the densest one so far."""
SPARSEST = 0.05
DENSEST = 2.0
"""Tokens per byte that no server counts if it reads the whole request: less, or more."""
_CACHED_COUNTS = 256
_PIECE = re.compile(r"[^\n]{1,1000}|\n")
"""Characters that are normalized at once, because the time grows with the square of a row of combining
characters. Nothing is composed across lines, and what is composed has no more bytes."""


class UpperBound:
    """Upper bound for all byte-level tokenizers, in which a token is at least one byte long.

    A string counts as its number of UTF-8 bytes, before or after NFKC normalization, whichever is
    larger. For the chat template, 16 is added for each message and 64 for each request. A tool
    counts as the size of its JSON, plus 2 for each line of the indented JSON, because tokenizers
    has tokens for runs of spaces. Templates that add more tokens are not covered.
    """

    name = "upper-bound/1"
    basis: Basis = "bytes"
    rate = 1.0
    least = SPARSEST

    def count_messages(
        self, messages: tuple[Message, ...], tools: tuple[ToolSchema, ...] = ()
    ) -> int:
        """Return an upper bound for a chat request."""
        texts = sum(map(_said, messages))
        return PER_REQUEST + texts + sum(_declared(tool) + PER_MESSAGE for tool in tools)

    def count_text(self, prompt: str) -> int:
        """Return an upper bound for a complete prompt."""
        return _bytes(prompt) + PER_MESSAGE


def _said(message: Message) -> int:
    calls = msgspec.json.encode(message.tool_calls) if message.tool_calls else b""
    return _bytes(message.role) + _bytes(message.content) + len(calls) + PER_MESSAGE


def _declared(tool: ToolSchema) -> int:
    declaration = tool_declaration(tool)
    lines = json.dumps(declaration, indent=1).count("\n") + 1
    return _bytes(json.dumps(declaration)) + 2 * lines


class TokenRatio(NamedTuple):
    """Tokens per byte in the answers of a server: in its sparsest and in its densest request."""

    low: float
    high: float


class UsageCounter(UpperBound):
    """Counts bytes until the server's first answer, and then the tokens per byte of its answers.

    A `known` ratio is used at once.
    """

    def __init__(self, known: TokenRatio | None = None) -> None:
        self._set(known)

    def learn(self, size: int, tokens: int | None) -> None:
        """Note that the server counted `tokens` in a request of `size` bytes by `UpperBound`.

        A count that cannot be true is ignored.
        """
        seen = (tokens or 0) / size
        low, high = self._ratio or (seen, seen)
        if not max(SPARSEST, low / 2) <= seen <= DENSEST:
            return
        self._set(TokenRatio(min(low, seen), max(high, seen)))

    def count_messages(
        self, messages: tuple[Message, ...], tools: tuple[ToolSchema, ...] = ()
    ) -> int:
        return math.ceil(super().count_messages(messages, tools) * self.rate)

    def count_text(self, prompt: str) -> int:
        return math.ceil(super().count_text(prompt) * self.rate)

    def _set(self, ratio: TokenRatio | None) -> None:
        self._ratio = ratio
        if ratio is not None:
            self.basis = "usage"
            self.rate = round(ratio.high * MARGIN, 3)
            self.least = ratio.low / 2 / self.rate
            self.name = f"usage/1 of {self.rate} tokens per byte"


class ServerTokenizer:
    """Counts tokens with the `/tokenize` of llama.cpp, after `/apply-template`, or of vLLM.

    The counts equal the server's `usage.prompt_tokens`; vLLM may add arguments to the template.
    """

    basis: Basis = "tokenizer"
    rate = 1 / 3
    """For texts that are cut before they are counted."""

    def __init__(self, model: str, post: PostJson, *, llama: bool = True) -> None:
        self.name = f"tokenizer/{model}"
        self.least = 1.0 if llama else 0.9
        self._model = model
        self._post = post
        self._llama = llama
        # fitting a packet and the check before a request count the same strings repeatedly
        self._messages = lru_cache(_CACHED_COUNTS)(self._count_messages)
        self._text = lru_cache(_CACHED_COUNTS)(self._count_text)

    def count_messages(
        self, messages: tuple[Message, ...], tools: tuple[ToolSchema, ...] = ()
    ) -> int:
        """Return the exact count for a chat request.

        Raises ModelError if the server cannot be reached.
        """
        declared = json.dumps([tool_declaration(t) for t in tools]) if tools else ""
        return self._messages(messages, declared)

    def count_text(self, prompt: str) -> int:
        """Return the exact count for a complete prompt.

        Raises ModelError if the server cannot be reached.
        """
        return self._text(prompt)

    def _count_messages(self, messages: tuple[Message, ...], declared: str) -> int:
        body: dict[str, Any] = {"messages": msgspec.to_builtins(messages)}
        if declared:
            body["tools"] = json.loads(declared)
        if not self._llama:
            return self._count({"model": self._model, **body})
        return self._count_text(_field(self._post("/apply-template", body), "prompt", str))

    def _count_text(self, prompt: str) -> int:
        if not self._llama:
            return self._count({"model": self._model, "prompt": prompt})
        body = {"content": prompt, "add_special": True, "parse_special": True}
        return len(_field(self._post("/tokenize", body), "tokens", list))

    def _count(self, body: dict[str, Any]) -> int:
        return _field(self._post("/tokenize", body), "count", int)


def _field(body: dict[str, Any], key: str, kind: type[_Kind]) -> _Kind:
    if not isinstance(value := body.get(key), kind):
        raise ModelError(f"the response of the model server's tokenizer has no {key!r}")
    return value


def tool_declaration(tool: ToolSchema) -> dict[str, Any]:
    """Return a tool in the format of the `tools` parameter of OpenAI-compatible servers.

    That a tool has no other arguments is left out: it takes 7 tokens, and calls with others are
    invalid anyway.
    """
    closed = tool.parameters.get("additionalProperties") is False
    left_out = {"additionalProperties"} if closed else set()
    parameters = {key: value for key, value in tool.parameters.items() if key not in left_out}
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters,
        },
    }


def _bytes(text: str) -> int:
    plain = len(text.encode("utf-8", "surrogatepass"))
    if text.isascii():
        return plain
    pieces = (unicodedata.normalize("NFKC", piece) for piece in _PIECE.findall(text))
    return max(plain, sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces))
