"""The tab *Raw | Packet*: the tool's output beside the packet that the model saw."""

from typing import Any

from remora.errors import NotFound, StreamDamaged
from remora.memory.events import ToolResulted
from remora.memory.packet import DecisionPacket, packet_json
from remora.runs.records.packet_diff import packet_changes
from remora.web.agent_records import TurnRecord

_EMPTY: tuple[Any, ...] = (None, "", [], {})
_APART = ("hub_context", "hub_freshness")


def outputs(turn: TurnRecord) -> dict[str, Any]:
    """Return the raw outputs of the turn."""
    results = turn.data(ToolResulted.type)
    return {"results": results, "problem": "", "changes": None, "other": None, "packet": None}


def packet(turn: TurnRecord, other: int | None) -> dict[str, Any]:
    """Return the raw outputs, the packet, and how it differs from the packet of another turn."""
    found = outputs(turn) | {"other": other}
    try:
        shown = turn.packet()
        if other is not None:
            found["changes"] = packet_changes(turn.packet(other), shown)
    except (StreamDamaged, NotFound) as error:
        return found | {"problem": f"{error.message}; {error.hint}", "packet": {}, "facts": []}
    document = packet_json(shown)
    parts = {
        key: value for key, value in document.items() if value not in _EMPTY and key not in _APART
    }
    return found | {"packet": parts, "facts": _facts(shown)}


def _facts(shown: DecisionPacket) -> list[dict[str, Any]]:
    """Return the Hub's facts about each node, with how fresh they were."""
    return [
        {"node": node, "facts": facts, "freshness": shown.hub_freshness.get(node)}
        for node, facts in shown.hub_context.items()
    ]
