"""FunctionGemma's tokens, declarations and calls against a golden file that is written by hand.

Its rules are those of Google's guide "FunctionGemma formatting and best practices" and of the chat
template of google/functiongemma-270m-it: six tokens in pairs, `<escape>` around every string,
arguments and properties in alphabetical order, types in uppercase.
"""

import re
from pathlib import Path

from remora.chat import ToolCall, ToolSchema
from remora.exports.training.functiongemma_rows import written_call
from remora.memory import DecisionPacket
from remora.memory.prompt.control_tokens import CONTROL_TOKENS
from remora.memory.prompt.functiongemma_prompt import function_declaration
from remora.memory.prompt.render import render
from remora.models.families import parse_call
from remora.models.families.functiongemma import FUNCTIONGEMMA

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


def test_tokens() -> None:
    tokens = GOLDEN["tokens"].split()
    assert set(tokens) <= set(CONTROL_TOKENS)
    assert set(FUNCTIONGEMMA.marks) <= set(tokens)


def test_declaration() -> None:
    assert function_declaration(TOOL) == GOLDEN["declaration"].strip()


def test_call() -> None:
    call = GOLDEN["call"].strip()
    assert written_call(CALL.tool, CALL.args) == call
    assert parse_call(call, [TOOL]) == CALL


def test_turns() -> None:
    prompt = render("functiongemma/1", DecisionPacket(goal="Move"), [TOOL], "completion").prompt
    expected = GOLDEN["turns"].replace("{declaration}", GOLDEN["declaration"].strip())
    assert prompt == expected.replace("{user}", "Goal: Move")
