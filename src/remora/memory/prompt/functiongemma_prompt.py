"""The `functiongemma` renderers, for the prompt format that FunctionGemma (270M) was trained on.

The prompt begins with the agent's instructions, and asks about one suggestion of each tool: only
what that leaves open is declared. The format has no place for `nullable` or for other allowed values
than texts. `functiongemma_tools/2` shows the same to servers that add the format and the tools
themselves.

    <bos><start_of_turn>developer
    You are a model that can do function calling with the following functions
    <start_function_declaration>…<end_function_declaration><end_of_turn>
    <start_of_turn>user
    …<end_of_turn>
    <start_of_turn>model

The server adds `<bos>`. The renderer does not add it, because a second `<bos>` would change the
prompt. Every text value is enclosed in a pair of `<escape>` tokens.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any

from msgspec.structs import replace

from remora.chat import ToolSchema
from remora.memory.canonical import json_text
from remora.memory.packet import OWN_TOOLS, Candidate, DecisionPacket
from remora.memory.prompt.base import RenderedRequest
from remora.memory.prompt.control_tokens import neutralize_control_tokens
from remora.memory.prompt.lines import plain_lines

DEVELOPER = "You are a model that can do function calling with the following functions"
AROUND = 1000
"""Maximum bytes of a prompt around its packet, unless the suggestions need more. Decision."""
_TYPES = {bool: "boolean", int: "integer", float: "number"}


def short_prompt(
    packet: DecisionPacket, tools: Sequence[ToolSchema], instructions: str
) -> RenderedRequest:
    """Render the prompt of `functiongemma/3`, with as many sentences of the instructions as fit.

    If not even the first one does, tools that only look are left out.
    """
    sentences = re.split(r"(?<=\.) ", instructions)
    looks = {tool.name for tool in tools if tool.looks} - OWN_TOOLS
    whole = one_of_each_tool(packet)
    kept = tuple(offer for offer in whole.candidate_actions if offer.tool not in looks)
    acting = replace(whole, candidate_actions=kept)
    ways = [*product((whole, acting), range(len(sentences), 0, -1)), (acting, 0)]
    sizes = (len(_prompt("", open_tools(view, tools), sentences[:n]).encode()) for view, n in ways)
    fitting = (way for way, size in zip(ways, sizes, strict=True) if size <= AROUND)
    shown, most = next(fitting, ways[-1])
    asked = open_tools(shown, tools)
    user = plain_lines(shown, asked, declared=True)
    return RenderedRequest(prompt=_prompt(user, asked, sentences[:most]))


def developer_lines(sentences: Sequence[str]) -> list[str]:
    """Return the lines of the developer's turn, without the tools."""
    return [*filter(None, [" ".join(sentences)]), DEVELOPER]


def _prompt(user: str, tools: Sequence[ToolSchema], sentences: Sequence[str]) -> str:
    developer = neutralize_control_tokens("\n".join(developer_lines(sentences)))
    return (
        f"<start_of_turn>developer\n{developer}{''.join(map(function_declaration, tools))}"
        f"<end_of_turn>\n<start_of_turn>user\n{neutralize_control_tokens(user)}<end_of_turn>\n"
        "<start_of_turn>model\n"
    )


def one_of_each_tool(packet: DecisionPacket) -> DecisionPacket:
    """Return the packet with the first suggestion of each tool."""
    first: dict[str, Candidate] = {}
    for candidate in packet.candidate_actions:
        first.setdefault(candidate.tool, candidate)
    return replace(packet, candidate_actions=tuple(first.values()))


def open_tools(packet: DecisionPacket, tools: Sequence[ToolSchema]) -> list[ToolSchema]:
    """Return the suggested tools by name, with the arguments that are still needed.

    Of a description, the first clause is left. Without a suggestion, all tools stay as they are.
    """
    given = {offer.tool: offer.args for offer in one_of_each_tool(packet).candidate_actions}
    suggested = (_open(tool, given[tool.name]) for tool in tools if tool.name in given)
    return sorted(suggested if given else tools, key=lambda tool: tool.name)


def _open(tool: ToolSchema, given: Collection[str]) -> ToolSchema:
    known = tool.parameters.get("properties", {})
    required = [name for name in tool.parameters.get("required", ()) if name not in given]
    asked = {"properties": {name: known[name] for name in required}, "required": required}
    clause = re.split(r"[,;:.]", tool.description)[0]
    return replace(tool, description=clause, parameters={**tool.parameters, **asked})


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
