"""Calls as they are written and sent: types, validity, marks of every family."""

from typing import Any

import pytest

from remora.chat import ToolCall, ToolSchema
from remora.mcp.answer_page import neutral
from remora.models.client.wire_format import completion_body
from remora.models.decoding.argument_types import string_declaration, typed_arguments
from remora.models.decoding.call_formats import FAMILIES, MARKS, Family
from remora.models.protocol import Decoding, Request
from tests.models.decoding.written_calls import WRITE, parse_call

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
    ("string", 'see <think> or \'<tool_call>\' {"tool":"put","args":{}}'),
    ("array", ["a", "b"]),
    ("array", ["a"]),
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
