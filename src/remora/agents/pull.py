"""The pull hook: before each turn, fresh facts of the nodes that matter go into the packet."""

import re
from collections.abc import Mapping
from typing import Any, Protocol

from remora.memory.canonical import canonical
from remora.memory.delta import PacketDelta, knowledge
from remora.memory.packet import MAX_HUB_NODES, DecisionPacket

_KEY = re.compile(r"node:[^\s\"',;]+:[^\s\"',;:]+")


class NodeFacts(Protocol):
    """Where facts come from: the Hub's client, when there is a Hub."""

    async def refresh_context(self, keys: list[str]) -> Mapping[str, Any]:
        """Facts by node key; `{}` where none are to be had. Never raises."""


class NoHub:
    """Stands where no Hub runs: there are no facts."""

    async def refresh_context(self, keys: list[str]) -> Mapping[str, Any]:
        """Always `{}`, whatever the `keys`."""
        del keys
        return {}


def wanted_nodes(packet: DecisionPacket) -> list[str]:
    """The target, then node keys in recent arguments and knowledge, newest first; at most 5."""
    found = dict.fromkeys([packet.node_id])
    for action in reversed(packet.recent_actions):
        found |= dict.fromkeys(_KEY.findall(canonical(action.args).decode()))
    for fact in reversed(packet.knowledge.values()):
        found |= dict.fromkeys(_KEY.findall(canonical(fact.value).decode()))
    return list(found)[:MAX_HUB_NODES]


def hub_delta(facts: Mapping[str, Any]) -> PacketDelta:
    """Facts by node key as a delta; when they were fresh goes to `hub_freshness`."""
    shown = {key: _without_time(value) for key, value in facts.items()}
    times = {key: _time(value) for key, value in facts.items()}
    return PacketDelta(
        hub_context=knowledge(shown), hub_freshness={k: t for k, t in times.items() if t}
    )


def _time(value: Any) -> str | None:
    return value.get("last_updated") if isinstance(value, Mapping) else None


def _without_time(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {key: inner for key, inner in value.items() if key != "last_updated"}
