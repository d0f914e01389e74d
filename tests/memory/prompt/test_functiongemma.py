"""FunctionGemma's prompt, byte for byte, and that data cannot speak its control tokens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.chat import ToolSchema
from remora.memory.packet import Candidate, DecisionPacket, Excerpt, Fact
from remora.memory.prompt.control_tokens import CONTROL_TOKENS, neutralize_control_tokens
from remora.memory.prompt.functiongemma_prompt import function_declaration
from remora.memory.prompt.render import render


def schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


DECLARATIONS = [
    (
        ToolSchema(name="submit_result", parameters=schema({})),
        "<start_function_declaration>declaration:submit_result{"
        "description:<escape><escape>,"
        "parameters:{type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
    (
        ToolSchema(
            name="read_code",
            description="Read the file.",
            parameters=schema({"path": {"type": "string"}}, "path"),
        ),
        "<start_function_declaration>declaration:read_code{"
        "description:<escape>Read the file.<escape>,"
        "parameters:{properties:{"
        "path:{description:<escape><escape>,type:<escape>STRING<escape>}},"
        "required:[<escape>path<escape>],"
        "type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
    (
        ToolSchema(
            name="edit_line",
            description="Replace one line.",
            parameters=schema(
                {
                    "text": {"type": "string", "description": "What stands there then."},
                    "line": {"type": "integer", "description": "From 1."},
                },
                "text",
                "line",
            ),
        ),
        "<start_function_declaration>declaration:edit_line{"
        "description:<escape>Replace one line.<escape>,"
        "parameters:{properties:{"
        "line:{description:<escape>From 1.<escape>,type:<escape>INTEGER<escape>},"
        "text:{description:<escape>What stands there then.<escape>,type:<escape>STRING<escape>}},"
        "required:[<escape>text<escape>,<escape>line<escape>],"
        "type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
    (
        ToolSchema(
            name="run_tests",
            parameters=schema({"ids": {"type": "array", "items": {"type": "string"}}}),
        ),
        "<start_function_declaration>declaration:run_tests{"
        "description:<escape><escape>,"
        "parameters:{properties:{"
        "ids:{description:<escape><escape>,items:{type:<escape>STRING<escape>},"
        "type:<escape>ARRAY<escape>}},"
        "type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
    (
        ToolSchema(
            name="set",
            parameters=schema(
                {
                    "ratio": {"type": "number"},
                    "Deep": {"type": ["null", "boolean"], "description": None},
                    "any": {},
                }
            ),
        ),
        "<start_function_declaration>declaration:set{"
        "description:<escape><escape>,"
        "parameters:{properties:{"
        "any:{description:<escape><escape>,type:<escape>STRING<escape>},"
        "Deep:{description:<escape><escape>,type:<escape>BOOLEAN<escape>},"
        "ratio:{description:<escape><escape>,type:<escape>NUMBER<escape>}},"
        "type:<escape>OBJECT<escape>}}<end_function_declaration>",
    ),
]
TOOLS = [tool for tool, _ in DECLARATIONS]


@pytest.mark.parametrize(("tool", "expected"), DECLARATIONS, ids=[t.name for t in TOOLS])
def test_a_declaration(tool: ToolSchema, expected: str) -> None:
    assert function_declaration(tool) == expected


def prompt(packet: DecisionPacket, tools: list[ToolSchema]) -> str:
    rendered = render("functiongemma/2", packet, tools, "completion")
    assert rendered.messages is None
    assert rendered.prompt is not None
    return rendered.prompt


def test_a_prompt() -> None:
    packet = DecisionPacket(
        goal="Fix f",
        turn=2,
        candidate_actions=(Candidate(tool="submit_result", reason="done"),),
    )
    assert prompt(packet, TOOLS) == (
        "<start_of_turn>developer\n"
        "You are a model that can do function calling with the following functions"
        + "".join(expected for _, expected in DECLARATIONS)
        + "<end_of_turn>\n"
        "<start_of_turn>user\n"
        "Goal: Fix f\n"
        "Turn 2 of 12\n"
        "Suggestions:\n"
        "- submit_result() - done<end_of_turn>\n"
        "<start_of_turn>model\n"
    )


pieces = st.sampled_from([*CONTROL_TOKENS, "<", ">", "bos>", "end_of_turn>", "x", "\n"])
hostile = st.lists(pieces, max_size=12).map("".join)


@given(hostile)
def test_no_control_token_is_left_in_defused_text(text: str) -> None:
    harmless = neutralize_control_tokens(text)
    assert not any(token in harmless for token in CONTROL_TOKENS)
    assert harmless.replace("< ", "<") == text.replace("< ", "<")


@given(hostile, hostile)
def test_data_adds_no_control_token_to_a_prompt(text: str, description: str) -> None:
    def of(text: str, description: str) -> str:
        packet = DecisionPacket(
            goal=f"g{text}",
            excerpt=Excerpt(ref="", path="p", lines=(1, 1), text=f"g{text}"),
            knowledge={f"k{text}": Fact(value=[text], source_turn=1)},
            last_error=f"e{text}",
            candidate_actions=(Candidate(tool="t", args={"a": text}, reason=text),),
        )
        arg = {"type": "string", "description": description}
        return prompt(
            packet, [ToolSchema(name="t", description=text, parameters=schema({"a": arg}))]
        )

    said, bare = of(text, description), of("", "")
    assert [said.count(token) for token in CONTROL_TOKENS] == [
        bare.count(token) for token in CONTROL_TOKENS
    ]
