"""The `functiongemma` renderers, for the prompt format that FunctionGemma (270M) was trained on.

`functiongemma/1` declares only the types of arguments. `functiongemma/2` also declares the allowed
texts, the properties of objects and the items of arrays. The format has no place for `nullable` or
for other allowed values than texts. `functiongemma_tools/1` shows the same to servers that add the
format and the tools themselves.

    <bos><start_of_turn>developer
    You are a model that can do function calling with the following functions
    <start_function_declaration>…<end_function_declaration><end_of_turn>
    <start_of_turn>user
    …<end_of_turn>
    <start_of_turn>model

The server adds `<bos>`. The renderer does not add it, because a second `<bos>` would change the
prompt. Every text value is enclosed in a pair of `<escape>` tokens.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from remora.chat import ToolSchema
from remora.memory.canonical import json_text
from remora.memory.packet import DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.control_tokens import neutralize_control_tokens
from remora.memory.prompt.lines import packet_lines

DEVELOPER = "You are a model that can do function calling with the following functions"
_TYPES = {bool: "boolean", int: "integer", float: "number"}


def functiongemma_prompt(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> RenderedRequest:
    """Render the complete prompt."""
    declarations = "".join(map(function_declaration, tools))
    user = neutralize_control_tokens(packet_lines(packet))
    return RenderedRequest(
        prompt=f"<start_of_turn>developer\n{DEVELOPER}{declarations}<end_of_turn>\n"
        f"<start_of_turn>user\n{user}<end_of_turn>\n<start_of_turn>model\n"
    )


def types_only(tool: ToolSchema) -> ToolSchema:
    """Return what `functiongemma/1` declares of a tool."""
    properties = {
        name: {
            "type": schema.get("type", "string"),
            "description": schema.get("description"),
            "items": {"type": str(schema.get("items", {}).get("type", "string"))},
        }
        for name, schema in tool.parameters.get("properties", {}).items()
    }
    return replace(tool, parameters=tool.parameters | {"properties": properties})


def function_declaration(tool: ToolSchema) -> str:
    """Return a function declaration."""
    parameters = ",".join([*_members(tool.parameters), "type:<escape>OBJECT<escape>"])
    return (
        f"<start_function_declaration>declaration:{tool.name}"
        f"{{description:{written_value(tool.description)},parameters:{{{parameters}}}}}"
        "<end_function_declaration>"
    )


def written_value(value: Any) -> str:
    """Return a value as declarations and calls write it."""
    match value:
        case str():
            return f"<escape>{neutralize_control_tokens(value)}<escape>"
        case list():
            return f"[{','.join(map(written_value, value))}]"
        case dict():
            names = sorted(value, key=str.lower)  # the order in the model's template
            return f"{{{','.join(f'{name}:{written_value(value[name])}' for name in names)}}}"
    return json_text(value)


def _members(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the properties of an object, and which of them are required."""
    if properties := schema.get("properties"):
        names = sorted(properties, key=str.lower)
        yield f"properties:{{{','.join(f'{name}:{_property(properties[name])}' for name in names)}}}"
    if required := schema.get("required"):
        yield f"required:{written_value(required)}"


def _property(schema: dict[str, Any], *, undescribed: str | None = "") -> str:
    """Return a declaration of a value. `undescribed` is the description of one that has none."""
    schema = _typed(schema)
    description = schema.get("description") or undescribed
    parts = [] if description is None else [f"description:{written_value(description)}"]
    match schema:
        case {"type": "string", "enum": [_, *_] as texts}:
            parts.append(f"enum:{written_value(texts)}")
        case {"type": "object"}:
            parts += _members(schema)
        case {"type": "array", "items": dict(items)} if items:
            parts.append(f"items:{_property(items, undescribed=None)}")
    parts.append(f"type:{written_value(schema['type'].upper())}")
    return f"{{{','.join(parts)}}}"


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with one type. A nullable type is declared as its other type."""
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    schema = next((choice for choice in choices if choice.get("type") != "null"), {}) | schema
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), None)
    allowed = next((value for value in schema.get("enum", ()) if value is not None), "")
    return schema | {"type": kind or _TYPES.get(type(allowed), "string")}
