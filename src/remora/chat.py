"""Records for messages, tool calls, tool schemas, answer forms and token usage."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec


class CalledFunction(msgspec.Struct, frozen=True, kw_only=True):
    """The name of a called tool, and its arguments as JSON."""

    name: str
    arguments: str


class MessageCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call in a message."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message in a request to an OpenAI-compatible server."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[MessageCall, ...] = ()
    """The calls of an assistant."""
    tool_call_id: str = ""
    """The call that a tool's message answers."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """Name and arguments of a tool call. The arguments are JSON values."""

    tool: str
    args: dict[str, Any] = {}


class ToolSchema(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Declaration of a tool for a model."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    """A JSON Schema of type `object`."""
    only_suggested: bool = False
    """True if the tool is declared only while it is suggested."""
    looks: bool = False
    """True if the tool cannot change files."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts reported by the server. A count is None if the server does not report it."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    evaluated: int | None = None
    """Prompt tokens that were computed rather than taken from the prefix cache."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer."""

    text: str = ""
    """What the model wrote, without its thinking if an answer follows that."""
    thinking: int = 0
    """How many characters of `raw` are thinking."""
    changed_keys: dict[str, str] = {}
    """Keys of the request that the server refused: their other name, or an empty text."""
    call: ToolCall | None = None
    """The call that the server read, not validated yet."""
    usage: Usage = Usage()
    finish_reason: str | None = None
    """Why the server ended the answer, in its words."""
    raw: Any = None
    """The JSON that the server sent."""


class AnswerForm(msgspec.Struct, frozen=True, kw_only=True):
    """Form of a model's answer, shared by the code that builds, sends and reads requests."""

    instruction: str = ""
    """The form's line in the system prompt."""
    declares_tools: bool = False
    """True if tools are also sent as schemas, which count as tokens."""
    tool_choice: str = "required"
    """What is sent with the schemas."""
    shows_control_tokens: bool = False
    """True if control tokens delimit the call, so that servers must not strip them."""


ANSWER_FORMS: Mapping[str, AnswerForm] = MappingProxyType(
    {
        **dict.fromkeys(
            ("grammar", "json_schema", "text"),
            AnswerForm(instruction='Answer with {"tool":"NAME","args":{...}}'),
        ),
        "tool_call": AnswerForm(instruction="Answer with one call of a tool.", declares_tools=True),
        # with `required`, vLLM generates JSON, and not the calls that FunctionGemma was trained on
        "string_tool_call": AnswerForm(declares_tools=True, tool_choice="auto"),
        "completion": AnswerForm(
            instruction="Answer with one function call.", shows_control_tokens=True
        ),
    }
)
"""Answer forms by strategy, for the strategies that ask a model."""


def answer_form(strategy: str) -> AnswerForm:
    """Return the answer form for a strategy, or the default form if the strategy is unknown."""
    return ANSWER_FORMS.get(strategy, AnswerForm())
