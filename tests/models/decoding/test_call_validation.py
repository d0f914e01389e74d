import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.chat import ToolCall, ToolSchema
from remora.models.decoding.call_parsing import parse_call
from remora.models.decoding.call_validation import BadCall

TOOLS = (
    ToolSchema(name="stop"),
    ToolSchema(
        name="edit",
        parameters={
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "line": {"type": "integer", "minimum": 1},
                "mode": {"enum": ["add", "cut"]},
            },
            "required": ["path", "line"],
        },
    ),
)


def reason(text: str) -> str:
    with pytest.raises(BadCall) as caught:
        parse_call(text, TOOLS)
    return caught.value.message


def call(**args: Any) -> str:
    return json.dumps({"tool": "edit", "args": args})


def test_a_valid_call() -> None:
    found = parse_call(call(path="a.py", line=3), TOOLS)
    assert found == ToolCall(tool="edit", args={"path": "a.py", "line": 3})


def test_further_calls_are_ignored() -> None:
    assert parse_call('{"tool":"stop","args":{}}\n' + call(), TOOLS).tool == "stop"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"tool":"stop","args":{}', "the answer ends inside a call: , is missing"),
        ('{"tool":"st', "the answer ends inside a string"),
        ('{"tool":"stop","tool":"edit","args":{}}', "tool is given twice in one call"),
        ('{"tool":"stop","args":{"x":NaN}}', "expected a value (a string needs quotes) at 'NaN"),
        ('{"tool":"stop"}', 'not a call {"tool": NAME'),
        ('{"tool":"stop","args":{},"why":"x"}', 'not a call {"tool": NAME'),
        ('{"tool":"stop","args":[]}', 'not a call {"tool": NAME'),
        ('{"tool":"go","args":{}}', "unknown tool 'go'; the tools are stop, edit"),
        (call(path="a.py"), "edit: the argument 'line' is missing"),
        (call(path="a", line=1, x=2), "edit: no argument 'x'; it takes path, line, mode"),
        ('{"tool":"stop","args":{"x":1}}', "stop: no argument 'x'; it takes none"),
        (call(path="a", line="one"), "edit: line must be of type integer, not 'one'"),
        (call(path="a", line=1.0), "edit: line must be of type integer, not 1.0"),
        (call(path="a", line=True), "edit: line must be of type integer, not True"),
        (call(path="a", line=0), "edit: line is 0, against minimum: 1"),
        (call(path="a", line=1, mode="x"), "edit: mode must be one of 'add', 'cut', not 'x'"),
    ],
)
def test_everything_else_is_a_bad_call_with_its_reason(text: str, expected: str) -> None:
    assert reason(text).startswith(expected)


def outcome(text: str) -> str:
    """The tool that was called, or why none was; any other exception is a fault."""
    try:
        return parse_call(text, TOOLS).tool
    except BadCall as bad:
        return bad.message


@given(st.text() | st.from_regex(r'\{"tool":"edit","args":.{0,40}\}'))
def test_no_text_does_worse_than_a_bad_call(text: str) -> None:
    assert "\n" not in outcome(text)


@pytest.mark.parametrize(
    "text",
    ["[{" * 24_000, '{"tool":"stop","args":' * 2_000, "1" * 5000, '"\ud800"'],
    ids=["arrays", "objects", "digits", "surrogate"],
)
def test_monstrous_answers_are_bad_calls(text: str) -> None:
    assert len(reason(text)) < 200
