"""Chat records: messages, tool calls, tool schemas, answer forms, token usage."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message in a request to an OpenAI-compatible server."""

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
    """Form of a model's answer, shared by the code that builds, sends and reads requests.

    `instruction`: its line in the system prompt. `ranks`: the answer is one scored token, the
    letter of a candidate. `declares_tools`: tools are sent as schemas in addition to the prompt,
    and count as tokens. `shows_control_tokens`: control tokens delimit the call, so servers must
    not strip them.
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
"""Answer forms by strategy, for the strategies that ask a model."""


def answer_form(strategy: str) -> AnswerForm:
    """Return a recorded strategy's answer form, or the default form for an unknown strategy."""
    return ANSWER_FORMS.get(strategy, AnswerForm())
