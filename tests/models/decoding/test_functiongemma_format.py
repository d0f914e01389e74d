"""FunctionGemma's tokens, declarations and calls against a golden file that is written by hand.

Its rules are those of Google's guide "FunctionGemma formatting and best practices" and of the chat
template of google/functiongemma-270m-it: six tokens in pairs, `<escape>` around every string,
arguments and properties in alphabetical order, types in uppercase, `enum` only of texts, no
`nullable`.
"""

import re
from pathlib import Path

import pytest

from remora.chat import ToolCall, ToolSchema
from remora.exports.training.sft_rows import written_call
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.control_tokens import CONTROL_TOKENS
from remora.memory.prompt.functiongemma_prompt import function_declaration, types_only
from remora.memory.prompt.render import render
from remora.models.decoding.call_formats import FUNCTIONGEMMA_CALLS
from remora.models.decoding.call_parsing import parse_call

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


def test_the_first_version_declares_only_types() -> None:
    declared = function_declaration(types_only(NESTED))
    assert declared == GOLDEN["types_only"].strip().replace("\n", "")
    prompt = render("functiongemma/1", DecisionPacket(goal="Plan"), [NESTED], "completion").prompt
    assert declared in str(prompt)


@pytest.mark.parametrize(
    ("name", "call", "tool"), [("call", CALL, TOOL), ("nested_call", NESTED_CALL, NESTED)]
)
def test_call(name: str, call: ToolCall, tool: ToolSchema) -> None:
    text = GOLDEN[name].strip()
    assert written_call(call.tool, call.args) == text
    assert parse_call(text, [tool]) == call


def test_turns() -> None:
    prompt = render("functiongemma/2", DecisionPacket(goal="Move"), [TOOL], "completion").prompt
    expected = GOLDEN["turns"].replace("{declaration}", GOLDEN["declaration"].strip())
    assert prompt == expected.replace("{user}", "Goal: Move")
