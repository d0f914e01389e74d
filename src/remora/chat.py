"""Chat records: messages, tool calls, tool schemas, token usage."""

from typing import Any, Literal

import msgspec


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a request to an OpenAI-compatible server."""

    role: Literal["system", "user", "assistant"]
    content: str


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's name and its arguments (JSON values)."""

    tool: str
    args: dict[str, Any] = {}


class ToolSchema(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as declared to a model. `parameters` is a JSON Schema of type object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts reported by the server; None if it does not report them.

    `evaluated`: prompt tokens that were computed, not taken from the prefix cache.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    evaluated: int | None = None
