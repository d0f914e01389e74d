"""What a packet's candidates allow: which can be chosen, which calls and schemas they leave."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from remora.agents.redaction import brought_back
from remora.chat import ToolCall, ToolSchema
from remora.memory.canonical import canonical
from remora.memory.delta import candidate
from remora.memory.packet import Candidate, DecisionPacket
from remora.memory.prompt.base import LABELS
from remora.models.decoding.call_validation import BadCall, find_tool, validate_call

_MOST_LOOKED_AT = 200


def as_candidates(
    actions: Iterable[Mapping[str, Any]], base: bytes | None
) -> tuple[Candidate, ...]:
    """What a candidates script proposes (`{tool, args, reason}`). A placeholder for a secret that
    `base` does not hold is offered to nobody."""
    return tuple(
        candidate(action["tool"], action.get("args") or {}, action.get("reason") or "")
        for action in actions
        if not brought_back(action.get("args") or {}, base)
    )


def offered(
    candidates: Sequence[Candidate], tools: Sequence[ToolSchema], strategy: str
) -> tuple[tuple[Candidate, ...], str]:
    """The candidates that can be chosen, and what is wrong with the first that cannot.

    They name a granted tool and arguments that it takes; for ranking they leave none open.
    """
    valid: list[Candidate] = []
    problem = ""
    for one in candidates[:_MOST_LOOKED_AT]:
        wrong = _wrong(one, tools, whole=strategy == "rank")
        problem = problem or wrong
        if not wrong:
            valid.append(one)
    return tuple(valid[: len(LABELS)]), problem


def _wrong(one: Candidate, tools: Sequence[ToolSchema], *, whole: bool) -> str:
    try:
        tool = find_tool(one.tool, tools)
        if not whole:
            tool = replace(tool, parameters={**tool.parameters, "required": []})
        validate_call(ToolCall(tool=one.tool, args=one.args), tool)
    except BadCall as bad:
        return f"not a valid candidate: {bad.message}"
    return ""


def is_complete(candidate: Candidate, tools: Sequence[ToolSchema]) -> bool:
    """Whether the candidate leaves no required argument open."""
    schema = next((tool for tool in tools if tool.name == candidate.tool), None)
    return schema is not None and all(
        name in candidate.args for name in schema.parameters.get("required", [])
    )


def declared_tools(shown: DecisionPacket, tools: Sequence[ToolSchema]) -> tuple[ToolSchema, ...]:
    """The tools that may be called now: those that the shown candidates name, else all."""
    named = {candidate.tool for candidate in shown.candidate_actions}
    return tuple(tool for tool in tools if not named or tool.name in named)


def narrowed(
    tools: Sequence[ToolSchema], candidates: Sequence[Candidate]
) -> tuple[ToolSchema, ...]:
    """The tools that candidates name, arguments that they give limited to what they give."""
    if not candidates:
        return tuple(tools)
    return tuple(
        _narrowed(tool, [c.args for c in candidates if c.tool == tool.name])
        for tool in tools
        if any(c.tool == tool.name for c in candidates)
    )


def _narrowed(tool: ToolSchema, given: list[dict[str, Any]]) -> ToolSchema:
    properties = {}
    for name, schema in tool.parameters.get("properties", {}).items():
        values = {canonical(args[name]): args[name] for args in given if name in args}
        everywhere = all(name in args for args in given)
        properties[name] = {**schema, "enum": list(values.values())} if everywhere else schema
    return replace(tool, parameters={**tool.parameters, "properties": properties})


def matches(call: ToolCall, candidate: Candidate) -> bool:
    """Whether a call is what the candidate allows: its tool, with all arguments that it gives."""
    return call.tool == candidate.tool and all(
        name in call.args and canonical(call.args[name]) == canonical(value)
        for name, value in candidate.args.items()
    )
