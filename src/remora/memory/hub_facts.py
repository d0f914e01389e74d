"""Facts of the Hub in packets: which nodes a packet is about, and the delta with their facts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from remora.memory.canonical import canonical, canonical_size, to_packet_value
from remora.memory.delta import PacketDelta, key_changes
from remora.memory.node_facts import facts_view
from remora.memory.packet import MAX_HUB_NODES, DecisionPacket

_KEY = re.compile(r"node:[^\s\"',;\\]+:[\w.#]*\w")
_WHOLE = re.compile(r"node:[^\n]+:[^\s:]+")
_LINKS = ("callers", "references", "callees", "related_tests")
MAX_LINKS = 100
"""Maximum number of a node's links of each kind that an event records; the rest are counted."""


def wanted_nodes(packet: DecisionPacket, suggested: Iterable[str] = ()) -> list[str]:
    """Return the keys of at most `MAX_HUB_NODES` nodes to query.

    The nodes in `suggested` come first, or else the target, then keys from the arguments and
    summaries of recent actions, then keys from `knowledge`. Within each group of these, the most
    recent keys come first.
    """
    found = dict.fromkeys(suggested) or dict.fromkeys(filter(None, [packet.node_id]))
    for action in reversed(packet.recent_actions):
        found |= dict.fromkeys(_keys_in(action.args, action.args.values()))
        found |= dict.fromkeys(_keys_in(action.summary, ()))
    for fact in reversed(packet.knowledge.values()):
        found |= dict.fromkeys(_keys_in(fact.value, [fact.value]))
    return list(found)[:MAX_HUB_NODES]


def constructor_of(key: str) -> str:
    """Return the key of the `__init__` that a class may define."""
    return f"{key}.__init__"


def _keys_in(value: Any, alone: Iterable[Any]) -> Iterator[str]:
    """Yield the node keys that occur in a value.

    A key that contains spaces is found only if it is one of the strings in `alone`.
    """
    yield from _KEY.findall(canonical(value).decode())
    for text in alone:
        if isinstance(text, str) and text.count("node:") == 1 and _WHOLE.fullmatch(text):
            yield text


def recorded_facts(
    answer: Any, generation: int | None, constructor: Any | None = None
) -> dict[str, Any]:
    """Return a source's answer about a node as JSON values, as events record it.

    A class has the callers of its `constructor`, about which an answer may be given, besides its
    own. No caller of a class or module does not mean that it is not used.
    """
    facts: dict[str, Any] = msgspec.to_builtins(answer)
    if facts.get("node_type") in ("class", "module"):
        made = msgspec.to_builtins(constructor or {}).get("callers") or ()
        facts["callers"] = [*made, *(facts.get("callers") or ())] or None
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


def hub_delta(
    packet: DecisionPacket, facts: Mapping[str, Mapping[str, Any]], room: int, *, keep: bool = False
) -> PacketDelta:
    """Return a delta that replaces the Hub facts in the packet with `facts`.

    `room` is the maximum size in characters. Two thirds are reserved for the target, if there are
    facts about it, and the other nodes share the rest in order. If `keep` is true, facts already in the packet
    are kept and marked as not fresh.
    """
    context = _views_within(packet, facts, room)
    times = {key: facts[key].get("last_updated") for key in facts if key in context}
    if keep:
        old = packet.hub_context.items()
        stale = {k: {**v, "fresh": False} if isinstance(v, dict) else v for k, v in old}
        context, times = stale | context, packet.hub_freshness | times
    return PacketDelta(
        hub_context=key_changes(packet.hub_context, context),
        hub_freshness=key_changes(packet.hub_freshness, {k: t for k, t in times.items() if t}),
    )


def _views_within(
    packet: DecisionPacket, facts: Mapping[str, Mapping[str, Any]], room: int
) -> dict[str, Any]:
    context: dict[str, Any] = {}
    rest = room // 3 if packet.node_id in facts else room
    for key, node_facts in facts.items():
        of_target = key == packet.node_id
        share = (room - room // 3 if of_target else rest) - canonical_size({key: {}})
        view = facts_view(node_facts, share, known=packet.node_summary if of_target else "")
        if view or of_target:
            context[to_packet_value(key)] = to_packet_value(view)
            rest -= 0 if of_target else canonical_size({key: view})
    return context
