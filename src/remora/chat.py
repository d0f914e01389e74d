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
    """A message in a request to an OpenAI-compatible server.

    `tool_calls` are those of an assistant. A tool's message answers the call `tool_call_id`.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[MessageCall, ...] = ()
    tool_call_id: str = ""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """Name and arguments of a tool call. The arguments are JSON values."""

    tool: str
    args: dict[str, Any] = {}


class ToolSchema(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Declaration of a tool for a model. `parameters` is a JSON Schema of type `object`.

    If `only_suggested` is true, the tool is declared only while it is suggested. `looks` is true if
    it cannot change files.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    only_suggested: bool = False
    looks: bool = False


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Token counts reported by the server. A count is None if the server does not report it.

    `evaluated` is the number of prompt tokens that were computed rather than taken from the prefix
    cache.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    evaluated: int | None = None


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
    """Form of a model's answer, shared by the code that builds, sends and reads requests.

    `instruction` is the form's line in the system prompt. If `declares_tools` is true, tools are
    sent as schemas in addition to the prompt, and the schemas count as tokens. `tool_choice` is sent
    with them. If `shows_control_tokens` is true, control tokens delimit the call, so servers must not
    strip them.
    """

    instruction: str = ""
    declares_tools: bool = False
    tool_choice: str = "required"
    shows_control_tokens: bool = False


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
