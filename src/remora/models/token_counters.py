"""Token counters that use the server's tokenizer or a safe upper bound."""

import json
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from remora.chat import Message, ToolSchema
from remora.errors import ModelError

PostJson = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Posts a JSON body to a path of the server and returns the JSON response. Raises ModelError."""

PER_MESSAGE = 16
PER_REQUEST = 64
_CACHED_COUNTS = 256
_PIECE = re.compile(r"[^\n]{1,1000}|\n")
"""What is normalized at once, because the time grows with the square of a row of combining
characters. Nothing is composed across lines, and what is composed has no more bytes."""


class UpperBound:
    """Upper bound for all byte-level tokenizers, in which a token is at least one byte long.

    A string counts as its number of UTF-8 bytes, before or after NFKC normalization, whichever is
    larger. For the chat template, 16 is added for each message and 64 for each request. A tool
    counts as the size of its JSON, plus 2 for each line of the indented JSON, because tokenizers
    have tokens for runs of spaces. Templates that add more tokens are not covered, but
    `is_truncated` detects them.
    """

    name = "upper-bound/1"
    exact = False

    def count_messages(
        self, messages: tuple[Message, ...], tools: tuple[ToolSchema, ...] = ()
    ) -> int:
        """Return an upper bound for a chat request."""
        texts = sum(_bytes(m.role) + _bytes(m.content) + PER_MESSAGE for m in messages)
        return PER_REQUEST + texts + sum(_declared(tool) + PER_MESSAGE for tool in tools)

    def count_text(self, prompt: str) -> int:
        """Return an upper bound for a complete prompt."""
        return _bytes(prompt) + PER_MESSAGE


def _declared(tool: ToolSchema) -> int:
    declaration = tool_declaration(tool)
    lines = json.dumps(declaration, indent=1).count("\n") + 1
    return _bytes(json.dumps(declaration)) + 2 * lines


class ServerTokenizer:
    """Counts tokens with llama.cpp's `/apply-template` and `/tokenize`.

    The counts equal the server's `usage.prompt_tokens`.
    """

    exact = True

    def __init__(self, model: str, post: PostJson) -> None:
        self.name = f"tokenizer/{model}"
        self._post = post
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
        return self._count_text(str(_field(self._post("/apply-template", body), "prompt")))

    def _count_text(self, prompt: str) -> int:
        body = {"content": prompt, "add_special": True, "parse_special": True}
        tokens = _field(self._post("/tokenize", body), "tokens")
        return len(tokens)


def _field(body: dict[str, Any], key: str) -> Any:
    if key not in body:
        raise ModelError(f"the response of the model server's tokenizer has no {key!r}")
    return body[key]


def tool_declaration(tool: ToolSchema) -> dict[str, Any]:
    """Return a tool in the format of the `tools` parameter of OpenAI-compatible servers."""
    return {"type": "function", "function": msgspec.to_builtins(tool)}


def _bytes(text: str) -> int:
    plain = len(text.encode("utf-8", "surrogatepass"))
    if text.isascii():
        return plain
    pieces = (unicodedata.normalize("NFKC", piece) for piece in _PIECE.findall(text))
    return max(plain, sum(len(piece.encode("utf-8", "surrogatepass")) for piece in pieces))
