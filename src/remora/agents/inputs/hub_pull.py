"""The pull hook: before each turn, fresh facts of the nodes that matter go into the packet."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from remora.agents.inputs.facts_view import shown
from remora.agents.inputs.node_versions import Sides
from remora.agents.threads import aside
from remora.memory.canonical import canonical, canonical_size, to_packet_value
from remora.memory.delta import PacketDelta
from remora.memory.packet import MAX_HUB_NODES, DecisionPacket
from remora.trace.redact.redactor import Redactor

_KEY = re.compile(r"node:[^\s\"',;]+:[^\s\"',;:]+")
_WHOLE = re.compile(r"node:[^\n]+:[^\s:]+")
_LINKS = ("callers", "callees", "related_tests")
MOST_LINKS = 100
"""Links of one kind that an event holds of a node; of more it says how many there are."""
UNANSWERED = "no source of facts could answer in time"


class NodeFacts(Protocol):
    """Where facts come from: the Hub's client, when there is a Hub."""

    async def refresh_context(self, keys: list[str]) -> Mapping[str, Any]:
        """Facts by node key; `{}` where none are to be had. Never raises.

        What is given may have a `generation`, and a `rung` that is None if nobody could be asked.
        """


class NoHub:
    """Stands where no Hub is to be asked: there are no facts."""

    async def refresh_context(self, keys: list[str]) -> Mapping[str, Any]:
        """Always `{}`, whatever the `keys`."""
        del keys
        return {}


class Pulled(NamedTuple):
    """What came of a pull: everything that was said, why nothing was, and what it changes."""

    value: dict[str, Any]
    error: str | None
    delta: PacketDelta


class PullHook:
    """Asks `facts` before each turn; packets show of them what `room` characters hold."""

    def __init__(self, facts: NodeFacts, sides: Sides, redact: Redactor, room: int) -> None:
        self._facts = facts
        self._sides = sides
        self._redact = redact
        self._room = room

    async def pull(self, packet: DecisionPacket) -> Pulled | None:
        """Facts for the next turn; None where the packet holds them all.

        A packet holds facts of the nodes that are asked for now, and of no other: what is not
        asked for again would grow old unseen. Raises HostError for an odd workspace.
        """
        if isinstance(self._facts, NoHub):
            return None
        asked = wanted_nodes(packet)
        answer = await self._facts.refresh_context(asked)
        silent = not answer and getattr(answer, "rung", None) is None
        found = await aside(self._completed, packet.node_id, asked, answer)
        value = self._redact.clean(found)
        delta = hub_delta(packet, value, self._room, keep=silent)
        if delta == PacketDelta():
            return None
        return Pulled(value, UNANSWERED if silent else None, delta)

    def _completed(
        self, target: str, asked: list[str], answer: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """By node, what was answered, with what only the agent's own files tell."""
        found: dict[str, dict[str, Any]] = {}
        generation = getattr(answer, "generation", None)
        for key in asked:
            told = _recorded(answer[key], generation) if key in answer else None
            own = self._sides.workspace_facts(key)
            if own:
                told = {"fresh": True, **(told or {}), **own, "own_facts": "workspace"}
            if told is not None and own != {}:
                found[key] = told
        if self._sides.changed_by_user():
            found[target] = found.get(target, {}) | {"changed_by_user": True}
        return found


def wanted_nodes(packet: DecisionPacket) -> list[str]:
    """The target, then node keys in recent arguments and knowledge, newest first; at most 5."""
    found = dict.fromkeys([packet.node_id])
    for action in reversed(packet.recent_actions):
        found |= dict.fromkeys(_keys_in(action.args, action.args.values()))
    for fact in reversed(packet.knowledge.values()):
        found |= dict.fromkeys(_keys_in(fact.value, [fact.value]))
    return list(found)[:MAX_HUB_NODES]


def _keys_in(value: Any, alone: Iterable[Any]) -> Iterator[str]:
    """Keys anywhere in a value; those of files with spaces in their names only where a key stands
    `alone`."""
    yield from _KEY.findall(canonical(value).decode())
    for text in alone:
        if isinstance(text, str) and text.count("node:") == 1 and _WHOLE.fullmatch(text):
            yield text


def hub_delta(
    packet: DecisionPacket, facts: Mapping[str, Mapping[str, Any]], room: int, *, keep: bool = False
) -> PacketDelta:
    """What is to change so that the packet shows `facts` and nothing else of the Hub.

    Two thirds of the room are the target's, the rest goes to the others in their order. `keep`:
    what the packet shows of other nodes stays, marked as not fresh.
    """
    context: dict[str, Any] = {}
    if keep:
        context = {key: _aged(held) for key, held in packet.hub_context.items()}
    context |= _within(packet, facts, room)
    times = {key: told.get("last_updated") for key, told in facts.items() if key in context}
    if keep:
        times = packet.hub_freshness | times
    return PacketDelta(
        hub_context=_changed(packet.hub_context, context),
        hub_freshness=_changed(packet.hub_freshness, {k: t for k, t in times.items() if t}),
    )


def _within(
    packet: DecisionPacket, facts: Mapping[str, Mapping[str, Any]], room: int
) -> dict[str, Any]:
    context: dict[str, Any] = {}
    for_others = room // 3
    for key, told in facts.items():
        of_target = key == packet.node_id
        share = (room - room // 3 if of_target else for_others) - canonical_size({key: {}})
        view = shown(told, share, known=packet.node_summary if of_target else "")
        if view or of_target:
            context[to_packet_value(key)] = to_packet_value(view)
            for_others -= 0 if of_target else canonical_size({key: view})
    return context


def _aged(held: Any) -> Any:
    return {**held, "fresh": False} if isinstance(held, dict) else held


def _changed(held: Mapping[str, Any], now: Mapping[str, Any]) -> Any:
    """What turns `held` into `now`; nothing where it is that already."""
    changes = {key: None for key in held if key not in now}
    changes |= {key: value for key, value in now.items() if held.get(key) != value}
    return changes or msgspec.UNSET


def _recorded(told: Any, generation: int | None) -> dict[str, Any]:
    """A node's facts as an event holds them."""
    facts: dict[str, Any] = msgspec.to_builtins(told)
    more: dict[str, int] = {}
    for name in _LINKS:
        links = facts.get(name)
        if isinstance(links, list) and len(links) > MOST_LINKS:
            facts[name], more[name] = links[:MOST_LINKS], len(links)
    if more:
        facts["counts"] = more
    if generation is not None:
        facts["generation"] = generation
    return facts
