"""The pull hook, which adds current facts about relevant nodes to the packet before each turn."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from remora.agents.inputs.node_facts import facts_view
from remora.agents.inputs.node_versions import NodeVersions
from remora.memory.canonical import canonical, canonical_size, to_packet_value
from remora.memory.delta import PacketDelta
from remora.memory.packet import MAX_HUB_NODES, DecisionPacket
from remora.threads import run_in_thread
from remora.trace.redact.redactor import Redactor

_KEY = re.compile(r"node:[^\s\"',;]+:[^\s\"',;:]+")
_WHOLE = re.compile(r"node:[^\n]+:[^\s:]+")
_LINKS = ("callers", "callees", "related_tests")
MAX_LINKS = 100
"""Maximum number of a node's links of each kind that an event records; the rest are counted."""
UNANSWERED = "no source of facts could answer in time"


class NodeFacts(Protocol):
    """Source of node facts, such as the Hub's client."""

    async def refresh_context(self, keys: list[str]) -> Mapping[str, Any]:
        """Return facts about the given nodes, or `{}` if there are none. Never raises.

        The result may have the attributes `generation` and `source`. `source` is None if no source
        answered.
        """


class NoHub:
    """A source without any facts, for runs that do not use the Hub."""

    async def refresh_context(self, keys: list[str]) -> Mapping[str, Any]:
        del keys
        return {}


class PulledFacts(NamedTuple):
    """The result of a pull: the facts, an error if no source answered, and the packet's delta."""

    value: dict[str, Any]
    error: str | None
    delta: PacketDelta


class PullHook:
    """Queries `facts` before each turn.

    `room` is the maximum number of characters that the results may take up in a packet.
    """

    def __init__(self, facts: NodeFacts, sides: NodeVersions, redact: Redactor, room: int) -> None:
        self._facts = facts
        self._sides = sides
        self._redact = redact
        self._room = room

    async def pull(self, packet: DecisionPacket) -> PulledFacts | None:
        """Return facts for the next turn, or None if the packet already contains all of them.

        The packet only shows facts about nodes that were queried in this pull, because other facts
        could be outdated. Raises HostError if the workspace cannot be read.
        """
        if isinstance(self._facts, NoHub):
            return None
        asked = wanted_nodes(packet)
        answer = await self._facts.refresh_context(asked)
        silent = not answer and getattr(answer, "source", None) is None
        found = await run_in_thread(self._completed, packet.node_id, asked, answer)
        value = self._redact.clean(found)
        delta = hub_delta(packet, value, self._room, keep=silent)
        if delta == PacketDelta():
            return None
        return PulledFacts(value, UNANSWERED if silent else None, delta)

    def _completed(
        self, target: str, asked: list[str], answer: Mapping[str, Any]
    ) -> dict[str, dict[str, Any]]:
        """Return the answers, keyed by node, after adding facts from files that the agent
        changed.
        """
        found: dict[str, dict[str, Any]] = {}
        generation = getattr(answer, "generation", None)
        for key in asked:
            known = _recorded(answer[key], generation) if key in answer else None
            own = self._sides.workspace_facts(key)
            if own:
                known = {"fresh": True, **(known or {}), **own, "own_facts": "workspace"}
            if known is not None and own != {}:
                found[key] = known
        if self._sides.changed_by_user():
            found[target] = found.get(target, {}) | {"changed_by_user": True}
        return found


def wanted_nodes(packet: DecisionPacket) -> list[str]:
    """Return the keys of at most `MAX_HUB_NODES` nodes to query.

    The target comes first, then keys from the arguments of recent actions, then keys from
    `knowledge`. Within each group, the most recent keys come first.
    """
    found = dict.fromkeys([packet.node_id])
    for action in reversed(packet.recent_actions):
        found |= dict.fromkeys(_keys_in(action.args, action.args.values()))
    for fact in reversed(packet.knowledge.values()):
        found |= dict.fromkeys(_keys_in(fact.value, [fact.value]))
    return list(found)[:MAX_HUB_NODES]


def _keys_in(value: Any, alone: Iterable[Any]) -> Iterator[str]:
    """Yield the node keys that occur in a value.

    A key that contains spaces is found only if it is one of the strings in `alone`.
    """
    yield from _KEY.findall(canonical(value).decode())
    for text in alone:
        if isinstance(text, str) and text.count("node:") == 1 and _WHOLE.fullmatch(text):
            yield text


def hub_delta(
    packet: DecisionPacket, facts: Mapping[str, Mapping[str, Any]], room: int, *, keep: bool = False
) -> PacketDelta:
    """Return a delta that replaces the Hub facts in the packet with `facts`.

    `room` is the maximum size in characters. Two thirds are reserved for the target, and the other
    nodes share the rest in order. If `keep` is true, facts already in the packet are kept and
    marked as not fresh.
    """
    context: dict[str, Any] = {}
    if keep:
        context = {key: _mark_stale(before) for key, before in packet.hub_context.items()}
    context |= _views_within(packet, facts, room)
    times = {
        key: node_facts.get("last_updated") for key, node_facts in facts.items() if key in context
    }
    if keep:
        times = packet.hub_freshness | times
    return PacketDelta(
        hub_context=_changed(packet.hub_context, context),
        hub_freshness=_changed(packet.hub_freshness, {k: t for k, t in times.items() if t}),
    )


def _views_within(
    packet: DecisionPacket, facts: Mapping[str, Mapping[str, Any]], room: int
) -> dict[str, Any]:
    context: dict[str, Any] = {}
    rest = room // 3
    for key, node_facts in facts.items():
        of_target = key == packet.node_id
        share = (room - room // 3 if of_target else rest) - canonical_size({key: {}})
        view = facts_view(node_facts, share, known=packet.node_summary if of_target else "")
        if view or of_target:
            context[to_packet_value(key)] = to_packet_value(view)
            rest -= 0 if of_target else canonical_size({key: view})
    return context


def _mark_stale(before: Any) -> Any:
    return {**before, "fresh": False} if isinstance(before, dict) else before


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> Any:
    """Return the changes from `before` to `now`, or UNSET if there are none."""
    changes = {key: None for key in before if key not in now}
    changes |= {key: value for key, value in now.items() if before.get(key) != value}
    return changes or msgspec.UNSET


def _recorded(answer: Any, generation: int | None) -> dict[str, Any]:
    facts: dict[str, Any] = msgspec.to_builtins(answer)
    facts.pop("observed", None)  # large, and no decision uses it
    more: dict[str, int] = {}
    for name in _LINKS:
        links = facts.get(name)
        if isinstance(links, list) and len(links) > MAX_LINKS:
            facts[name], more[name] = links[:MAX_LINKS], len(links)
    if more:
        facts["counts"] = more
    if generation is not None:
        facts["generation"] = generation
    return facts
