"""The tab *Candidates*: the calls that were offered, with their scores, and who chose."""

from typing import Any

import msgspec

from remora.errors import NotFound, StreamDamaged
from remora.memory.events import ToolCalled
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
    calls = turn.data(ToolCalled.type)
    call = calls[-1] if calls else None
    problem, offered = "", tuple[Candidate, ...]()
    try:
        offered = turn.packet(called=True).candidate_actions
    except (StreamDamaged, NotFound) as error:
        problem = error.with_hint
    scores = call.get("scores", []) if call else []
    choice = call.get("choice") if call else None
    rows = [
        {
            "number": number + 1,
            "candidate": candidate,
            "score": scores[number] if number < len(scores) else None,
            "is_chosen": number == choice,
        }
        for number, candidate in enumerate(offered)
    ]
    return {
        "call": call,
        "rows": rows,
        "margin": _margin(scores),
        "gate": _gate(turn),
        "problem": problem,
        "tools": _tools(turn.agent.start),
    }


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


def _margin(scores: list[float | None]) -> float | None:
    """Return by how much the best score exceeds the second."""
    known = sorted((score for score in scores if isinstance(score, (int, float))), reverse=True)
    return round(known[0] - known[1], 3) if len(known) > 1 else None


def _gate(turn: TurnRecord) -> float | None:
    """Return the margin below which the first candidate is taken."""
    start = turn.agent.start
    gate = (start.get("model") or {}).get("margin")
    return float(gate) if isinstance(gate, (int, float)) else None
