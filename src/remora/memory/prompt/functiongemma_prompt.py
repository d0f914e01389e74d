"""The `functiongemma/1` renderer, for the prompt format that FunctionGemma (270M) was trained on.

`functiongemma_tools/1` shows the same to servers that add the format and the tools themselves.

    <bos><start_of_turn>developer
    You are a model that can do function calling with the following functions
    <start_function_declaration>…<end_function_declaration><end_of_turn>
    <start_of_turn>user
    …<end_of_turn>
    <start_of_turn>model

The server adds `<bos>`. The renderer does not add it, because a second `<bos>` would change the
prompt. Every text value is enclosed in a pair of `<escape>` tokens.
"""

from collections.abc import Sequence
from typing import Any

from remora.chat import ToolSchema
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.control_tokens import neutralize_control_tokens
from remora.memory.prompt.lines import packet_lines

DEVELOPER = "You are a model that can do function calling with the following functions"


def functiongemma_prompt(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> RenderedRequest:
    """Render the complete prompt."""
    declarations = "".join(map(function_declaration, tools))
    user = neutralize_control_tokens(packet_lines(packet))
    return RenderedRequest(
        prompt=f"<start_of_turn>developer\n{DEVELOPER}{declarations}<end_of_turn>\n"
        f"<start_of_turn>user\n{user}<end_of_turn>\n<start_of_turn>model\n"
    )


def function_declaration(tool: ToolSchema) -> str:
    """Return a function declaration.

    Properties are in alphabetical order, and types are in uppercase.
    """
    return (
        f"<start_function_declaration>declaration:{tool.name}"
        f"{{description:{_escaped(tool.description)},parameters:{_object(tool.parameters)}}}"
        "<end_function_declaration>"
    )


def _escaped(text: str) -> str:
    return f"<escape>{neutralize_control_tokens(text)}<escape>"


def _object(schema: dict[str, Any]) -> str:
    properties: dict[str, Any] = schema.get("properties", {})
    parts = []
    if properties:
        names = sorted(properties, key=str.lower)  # the order in the model's template
        inner = ",".join(f"{name}:{_property(properties[name])}" for name in names)
        parts.append(f"properties:{{{inner}}}")
    if required := schema.get("required"):
        parts.append(f"required:[{','.join(map(_escaped, required))}]")
    parts.append(f"type:{_escaped('OBJECT')}")
    return "{" + ",".join(parts) + "}"


def _property(schema: dict[str, Any]) -> str:
    kind = schema.get("type", "string")
    if isinstance(kind, list):  # a nullable type is declared as its other type
        kind = next((k for k in kind if k != "null"), "string")
    parts = [f"description:{_escaped(schema.get('description') or '')}"]
    if kind == "array":
        items = schema.get("items", {}).get("type", "string")
        parts.append(f"items:{{type:{_escaped(str(items).upper())}}}")
    parts.append(f"type:{_escaped(str(kind).upper())}")
    return "{" + ",".join(parts) + "}"
