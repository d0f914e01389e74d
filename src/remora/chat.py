"""Chat records: messages, tool calls, tool schemas, forms of answers, token usage."""

from collections.abc import Mapping
from types import MappingProxyType
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


class AnswerForm(msgspec.Struct, frozen=True, kw_only=True):
    """How a model answers, for all that make, send or read a request.

    `instruction` is the line of the system text. `ranks`: the answer is the letter of a candidate,
    one scored token. `declares_tools`: the tools are sent as schemas beside the prompt, and count
    as tokens. `shows_control_tokens`: they delimit the call, and servers must not strip them.
    """

    instruction: str = ""
    ranks: bool = False
    declares_tools: bool = False
    shows_control_tokens: bool = False


ANSWER_FORMS: Mapping[str, AnswerForm] = MappingProxyType(
    {
        "rank": AnswerForm(instruction="Answer with the letter of one action.", ranks=True),
        "grammar": AnswerForm(
            instruction='Answer with one JSON object: {"tool":"NAME","args":{...}}'
        ),
        "tool_call": AnswerForm(instruction="Answer with one call of a tool.", declares_tools=True),
        "completion": AnswerForm(
            instruction="Answer with one function call.", shows_control_tokens=True
        ),
    }
)
"""Forms of the strategies that ask a model."""


def answer_form(strategy: str) -> AnswerForm:
    """Return the form of a recorded strategy, a plain one for an unknown name."""
    return ANSWER_FORMS.get(strategy, AnswerForm())
