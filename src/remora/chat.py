"""The words that models speak: messages, tool calls, tool schemas."""

from typing import Any, Literal

import msgspec


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a request, as every OpenAI-compatible server takes it."""

    role: Literal["system", "user", "assistant"]
    content: str


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool by name with its arguments (JSON values)."""

    tool: str
    args: dict[str, Any] = {}


class ToolSchema(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as declared to a model. `parameters` is a JSON Schema of type object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one exchange as the server counted them; null where it does not say.

    `evaluated` is how many prompt tokens were computed, not taken from the prefix cache.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    evaluated: int | None = None
