"""Calls as they are written and sent: types, validity, marks of every family."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.chat import ToolCall, ToolSchema
from remora.mcp.answer_page import neutral
from remora.models.client.wire_format import completion_body
from remora.models.decoding.argument_types import string_declaration, typed_arguments
from remora.models.decoding.call_formats import FAMILIES, MARKS, Family
from remora.models.decoding.call_parsing import parse_call
from remora.models.decoding.call_validation import BadCall, read_native_call
from remora.models.protocol import Decoding, Request
from tests.models.decoding.written_calls import WRITE

TYPED = ToolSchema(
    name="place",
    description="Place a row.",
    parameters={
        "type": "object",
        "properties": {
            "line": {"type": "integer", "description": "Where."},
            "name": {"type": "string"},
            "rows": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["line"],
    },
)


class TestStringArguments:
    """Some servers keep only arguments that are strings, so all are declared as strings."""

    def test_every_argument_is_declared_as_a_string(self) -> None:
        declared = string_declaration(TYPED)
        assert (declared.name, declared.description) == ("place", "Place a row.")
        assert declared.parameters == {
            "type": "object",
            "properties": {
                "line": {"type": "string", "description": "Where."},
                "name": {"type": "string", "description": ""},
                "rows": {"type": "string", "description": ""},
            },
            "required": ["line"],
        }

    @pytest.mark.parametrize(
        ("given", "typed"),
        [
            ({"line": "3"}, {"line": 3}),
            ({"line": 3}, {"line": 3}),
            ({"name": "3"}, {"name": "3"}),
            ({"name": 3}, {"name": "3"}),
            ({"name": True}, {"name": "true"}),
            ({"rows": '["a", "b"]'}, {"rows": ["a", "b"]}),
            ({"line": "three"}, {"line": "three"}),
            ({"unknown": "x"}, {"unknown": "x"}),
        ],
    )
    def test_arguments_get_the_types_of_the_tool(
        self, given: dict[str, Any], typed: dict[str, Any]
    ) -> None:
        assert typed_arguments(given, TYPED) == typed


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


STOP_ONLY = (ToolSchema(name="stop"),)


def response(*arguments: Any) -> dict[str, Any]:
    calls = [{"function": {"name": "stop", "arguments": each}} for each in arguments]
    return {"choices": [{"message": {"content": None, "tool_calls": calls}}]}


def test_a_valid_call_is_returned() -> None:
    call = ToolCall(tool="stop", args={})
    assert read_native_call(call, response("{}"), STOP_ONLY) is call


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
        read_native_call(None, raw, STOP_ONLY)
    assert reason in caught.value.message


def test_an_invalid_call_is_refused() -> None:
    with pytest.raises(BadCall, match="unknown tool 'go'"):
        read_native_call(ToolCall(tool="go", args={}), response("{}"), STOP_ONLY)


REQUEST = Request(prompt="A", decoding=Decoding(strategy="completion"))


def test_llama_cpp_preserves_the_marks_of_every_family() -> None:
    preserved = completion_body(REQUEST, model="m", llama=True)["preserved_tokens"]
    assert set(preserved) == set(MARKS) == {m for family in FAMILIES for m in family.marks}
    assert "<|tool_call_start|>" in preserved
    assert len(preserved) == len(set(preserved))


def test_families_have_names_of_their_own() -> None:
    names = [family.name for family in FAMILIES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_the_marks_of_a_family_are_all_that_it_writes_around_values(family: Family) -> None:
    text = WRITE[family.name]("put", {"path": "a", "line": 3})
    for mark in family.marks:
        assert mark in text
        text = text.replace(mark, "")
    assert "<" not in text


def test_no_answer_for_a_model_holds_a_mark() -> None:
    assert {"<function=", "</function>", "<parameter=", "</parameter>"} < set(MARKS)
    for mark in MARKS:
        assert mark not in neutral(f"a{mark}b")


VALUES: list[tuple[str, Any]] = [
    ("string", "a, b}:{[] (c) = \n\"d\" 'e' \\f \\n é😀"),
    ("string", ""),
    ("string", "3"),
    ("string", "true"),
    ("integer", -7),
    ("number", 0.5),
    ("number", 1e-7),
    ("boolean", True),
    ("null", None),
    ("array", ["a", "b"]),
    ("array", []),
    ("object", {"at": "7:00", "days": [1, 2]}),
]


@pytest.mark.parametrize("family", WRITE)
@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_a_value(family: str, kind: str, value: Any) -> None:
    properties = {"value": {"type": kind}, "other": {"type": "integer"}}
    tool = ToolSchema(name="put", parameters={"type": "object", "properties": properties})
    args = {"value": value, "other": 1}
    assert parse_call(WRITE[family]("put", args), [tool]) == ToolCall(tool="put", args=args)
