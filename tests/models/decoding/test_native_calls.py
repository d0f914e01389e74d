"""A call that a server has parsed is used only if it is whole and valid."""

from typing import Any

import pytest

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.call_validation import BadCall, read_native_call

TOOLS = (ToolSchema(name="stop"),)


def response(*arguments: Any) -> dict[str, Any]:
    calls = [{"function": {"name": "stop", "arguments": each}} for each in arguments]
    return {"choices": [{"message": {"content": None, "tool_calls": calls}}]}


def test_a_valid_call_is_returned() -> None:
    call = ToolCall(tool="stop", args={})
    assert read_native_call(call, response("{}"), TOOLS) is call


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"choices": [{"message": {"content": "Certainly!"}}]}, "the answer has no tool call"),
        (response(), "the answer has no tool call"),
        (None, "the answer has no tool call"),
        (response('{"a": 1, "te'), """ends inside a tool call: stop with '{"a": 1, "te'"""),
        (response('{"a": '), "ends inside a tool call: stop with"),
        (response("nothing"), "the arguments of stop are not a JSON object: 'nothing'"),
        (response(""), "the arguments of stop are not a JSON object: ''"),
        (response("[1]"), "the arguments of stop are not a JSON object: '[1]'"),
        (response(None), "the arguments of stop are not a JSON object: None"),
        (response(f'{{"a": {"1" * 5_000}}}'), "the arguments of stop are not a JSON object"),
        (response("[" * 100_000), "the arguments of stop are not a JSON object"),
    ],
)
def test_why_there_is_no_call(raw: Any, reason: str) -> None:
    with pytest.raises(BadCall) as caught:
        read_native_call(None, raw, TOOLS)
    assert reason in caught.value.message


def test_an_invalid_call_is_refused() -> None:
    with pytest.raises(BadCall, match="unknown tool 'go'"):
        read_native_call(ToolCall(tool="go", args={}), response("{}"), TOOLS)
