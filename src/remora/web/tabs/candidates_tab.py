"""The tab *Candidates*: the calls that were offered, and who chose."""

from typing import Any

import msgspec

from remora.errors import NotFound, StreamDamaged
from remora.memory.packet import Candidate
from remora.web.agent_records import TurnRecord


class _Parameters(msgspec.Struct, frozen=True):
    properties: dict[str, Any] = {}


class _Tool(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    parameters: _Parameters = _Parameters()
    grants: list[str] = []


class _Definition(msgspec.Struct, frozen=True):
    tools: list[_Tool] = []


class _Start(msgspec.Struct, frozen=True):
    definition: _Definition = _Definition()
    tools: list[_Tool] = []


def candidates(turn: TurnRecord, _other: int | None) -> dict[str, Any]:
    """Return the candidates of the turn and its decision."""
    calls = turn.data(step.event for step in turn.events.calls)
    call = calls[-1] if calls else None
    problem, offered = "", tuple[Candidate, ...]()
    try:
        offered = turn.packet().candidate_actions
    except (StreamDamaged, NotFound) as error:
        problem = error.with_hint
    choice = call.get("choice") if call else None
    rows = [
        {"number": number + 1, "candidate": candidate, "is_chosen": number == choice}
        for number, candidate in enumerate(offered)
    ]
    return {"call": call, "rows": rows, "problem": problem, "tools": _tools(turn.agent.start)}


def _tools(start: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tools of the agent: their arguments, and the functions that their scripts call.

    Nothing is returned if they were recorded in a form that is not ours.
    """
    try:
        found = msgspec.convert(start, _Start)
    except msgspec.ValidationError:
        return []
    grants = {tool.name: tool.grants for tool in found.definition.tools}
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "arguments": [*tool.parameters.properties],
            "grants": grants.get(tool.name, []),
        }
        for tool in found.tools
    ]
