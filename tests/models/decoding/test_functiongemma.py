"""FunctionGemma's tokens, declarations and calls."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.chat import ToolCall, ToolSchema
from remora.exports.training.sft_rows import written_call
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.control_tokens import CONTROL_TOKENS
from remora.memory.prompt.functiongemma_prompt import function_declaration
from remora.memory.prompt.render import render
from remora.models.decoding.call_formats import FUNCTIONGEMMA_CALLS
from remora.models.decoding.call_validation import BadCall
from tests.models.decoding.written_calls import functiongemma, parse_call

LIGHTS = ToolSchema(
    name="set_lights",
    parameters={
        "type": "object",
        "properties": {
            "room": {"type": "string"},
            "level": {"type": "integer"},
            "warmth": {"type": "number"},
            "on": {"type": "boolean"},
            "colors": {"type": "array", "items": {"type": "string"}},
            "timer": {
                "type": "object",
                "properties": {"at": {"type": "string"}, "days": {"type": "array"}},
            },
            "until": {"type": ["string", "null"]},
        },
    },
)
STOP = ToolSchema(name="stop")
TOOLS = (LIGHTS, STOP)


@pytest.mark.parametrize(
    ("inner", "args"),
    [
        ("", {}),
        ("room:<escape>hall<escape>", {"room": "hall"}),
        ("room:<escape><escape>", {"room": ""}),
        ("room:<escape>a,b}:{[] \n\"'<escape>", {"room": "a,b}:{[] \n\"'"}),
        ("level:42", {"level": 42}),
        ("level:-7,warmth:0.5", {"level": -7, "warmth": 0.5}),
        ("on:true", {"on": True}),
        ("colors:[<escape>red<escape>,<escape>blue<escape>]", {"colors": ["red", "blue"]}),
        ("colors:[]", {"colors": []}),
        ("timer:{at:<escape>7:00<escape>,days:[1,2]}", {"timer": {"at": "7:00", "days": [1, 2]}}),
        ("until:null", {"until": None}),
        # declared types decide what an escaped text or a bare word means
        ("level:<escape>42<escape>", {"level": 42}),
        ("on:<escape>false<escape>", {"on": False}),
        ('colors:<escape>["red"]<escape>', {"colors": ["red"]}),
        ("room:1.50", {"room": "1.50"}),
        ("room:true", {"room": "true"}),
        ("until:<escape>null<escape>", {"until": "null"}),
    ],
)
def test_calls_byte_for_byte(inner: str, args: dict[str, Any]) -> None:
    text = f"<start_function_call>call:set_lights{{{inner}}}<end_function_call>"
    assert parse_call(text, TOOLS) == ToolCall(tool="set_lights", args=args)


def test_further_calls_and_the_servers_stop_tokens_are_ignored() -> None:
    stop = "<start_function_call>call:stop{}<end_function_call>"
    lights = "<start_function_call>call:set_lights{level:1}<end_function_call>"
    text = f"\n{stop}{lights}<start_function_response><end_of_turn>\n"
    assert parse_call(text, TOOLS) == ToolCall(tool="stop")


STRICT = [
    ("<start_function_call>stop{}<end_function_call>", "expected call: at 'stop{}"),
    ("<start_function_call>call:{}<end_function_call>", "expected a tool's name"),
    ("<start_function_call>call:stop{} so", "expected <end_function_call> at ' so'"),
    ("<start_function_call>call:stop", "the answer ends inside a call: { is missing"),
]
INNER = [
    ("room:hall", "expected a value (a string needs <escape>) at 'hall"),
    ("room:<escape>hall", "unterminated string"),
    ("room:<escape>hall,level:<escape>1<escape>", "expected , at '1<escape>"),
    ("level:042", "expected a value"),
    ("level:1,,", "expected an argument's name"),
    ("level:<escape>many<escape>", "set_lights: level must be of type integer, not 'many'"),
    ("warmth:1e999", "set_lights: warmth must be of type number, not '1e999'"),
    ("warmth:<escape>NaN<escape>", "set_lights: warmth must be of type number"),
    ("colors:[<escape>red<escape>", "expected ,"),
    ("dim:1", "set_lights: no argument 'dim'"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *STRICT,
        *(
            (f"<start_function_call>call:set_lights{{{inner}}}<end_function_call>", expected)
            for inner, expected in INNER
        ),
    ],
)
def test_what_is_not_exactly_a_call_is_a_bad_call(text: str, expected: str) -> None:
    with pytest.raises(BadCall) as caught:
        parse_call(text, TOOLS)
    assert caught.value.message.startswith(expected)


names = st.from_regex(r"[a-z][a-z_0-9]{0,8}", fullmatch=True)
texts = st.text().filter(lambda t: "<escape>" not in f"{t}<escape>"[:-1])
finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    texts | st.integers() | finite | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


@given(names, st.dictionaries(names, values, max_size=4))
def test_the_templates_output_is_parsed(name: str, args: dict[str, Any]) -> None:
    tool = ToolSchema(name=name, parameters={"properties": {key: {} for key in args}})
    assert parse_call(functiongemma(name, args), [tool]) == ToolCall(tool=name, args=args)


def outcome(text: str) -> str:
    """The tool that was called, or why none was; any other exception is a fault."""
    try:
        return parse_call(text, TOOLS).tool
    except BadCall as bad:
        return bad.message


@given(st.text())
def test_no_text_does_worse_than_a_bad_call(text: str) -> None:
    for candidate in (text, f"<start_function_call>call:set_lights{{{text}}}<end_function_call>"):
        assert not re.search(r"[\n\r]", outcome(candidate))


TEXT = (Path(__file__).parent / "golden/functiongemma.txt").read_text(encoding="utf-8")
GOLDEN = dict(re.findall(r"^\[(\w+)\]\n(.*?)(?=^\[\w+\]$|\Z)", TEXT, re.DOTALL | re.MULTILINE))
TOOL = ToolSchema(
    name="move_lines",
    description="Moves lines of a file.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file."},
            "by": {"type": "integer", "description": "How far."},
            "rows": {"type": "array", "items": {"type": "integer"}, "description": "The lines."},
        },
        "required": ["path", "by"],
    },
)
CALL = ToolCall(tool="move_lines", args={"path": 'a {b}, "c".py', "by": -2, "rows": [3, 4]})
NESTED = ToolSchema(
    name="plan",
    description="Plans edits.",
    parameters={
        "type": "object",
        "properties": {
            "mode": {"enum": ["fast", "safe"], "description": "How."},
            "level": {"enum": [1, 2]},
            "note": {"type": ["string", "null"], "description": "A note."},
            "scope": {"anyOf": [{"enum": ["file", "line"]}, {"type": "null"}]},
            "options": {
                "type": "object",
                "description": "More.",
                "properties": {"Depth": {"type": "integer"}, "all": {"type": "boolean"}},
                "required": ["all"],
            },
            "extra": {"type": "object", "additionalProperties": {"type": "string"}},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "description": "A step.",
                    "properties": {"at": {"type": "integer"}},
                    "required": ["at"],
                },
            },
            "grid": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            "any": {"type": "array"},
        },
        "required": ["mode"],
    },
)
NESTED_CALL = ToolCall(
    tool="plan",
    args={
        "mode": "safe",
        "options": {"all": True, "Depth": 2},
        "steps": [{"at": 3}],
        "note": None,
        "tags": ["a"],
    },
)


def test_tokens() -> None:
    tokens = GOLDEN["tokens"].split()
    assert set(tokens) <= set(CONTROL_TOKENS)
    assert set(FUNCTIONGEMMA_CALLS.marks) <= set(tokens)


@pytest.mark.parametrize(("name", "tool"), [("declaration", TOOL), ("nested", NESTED)])
def test_declaration(name: str, tool: ToolSchema) -> None:
    assert function_declaration(tool) == GOLDEN[name].strip().replace("\n", "")


@pytest.mark.parametrize(
    ("name", "call", "tool"), [("call", CALL, TOOL), ("nested_call", NESTED_CALL, NESTED)]
)
def test_call(name: str, call: ToolCall, tool: ToolSchema) -> None:
    text = GOLDEN[name].strip()
    assert written_call(call.tool, call.args) == text
    assert parse_call(text, [tool]) == call


def test_turns() -> None:
    prompt = render("functiongemma/3", DecisionPacket(goal="Move"), [TOOL], "completion").prompt
    expected = GOLDEN["turns"].replace("{declaration}", GOLDEN["declaration"].strip())
    assert prompt == expected.replace("{user}", "Goal: Move")
