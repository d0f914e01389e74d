"""The fold (`fold/1`), which applies deltas to packets and replays streams."""

from collections.abc import Iterable, Mapping
from itertools import dropwhile
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from remora.errors import InvalidEvent
from remora.memory.budget import TRIM
from remora.memory.canonical import canonical, canonical_size
from remora.memory.delta import REPLACED, PacketDelta
from remora.memory.events import AgentStart, Event, Recovered, payload
from remora.memory.foreign_events import check_event, read_event
from remora.memory.packet import (
    MAX_ACTIONS,
    MAX_DIAGNOSTICS,
    MAX_HUB_NODES,
    MAX_KNOWLEDGE_BYTES,
    MAX_KNOWLEDGE_KEYS,
    PINNED,
    SUMMARY_LIMIT,
    Action,
    DecisionPacket,
    Fact,
    NewAction,
    shortened,
)

_EMPTY = PacketDelta()


def apply(packet: DecisionPacket, delta: PacketDelta | None) -> DecisionPacket:
    """Return the packet with `delta` applied.

    Every delta is accepted. The cost does not depend on the length of the stream.
    """
    if delta is None or delta == _EMPTY:
        return packet
    changed = {name: value for name in REPLACED if (value := getattr(delta, name)) is not UNSET}
    if "diagnostics" in changed:
        changed["diagnostics"] = changed["diagnostics"][:MAX_DIAGNOSTICS]
    turn = changed.get("turn", packet.turn)
    if (action := delta.action) is not UNSET:
        changed["recent_actions"] = _with_action(packet.recent_actions, action, turn)
    if delta.update_knowledge is not UNSET or delta.forget_knowledge is not UNSET:
        changed["knowledge"] = _with_knowledge(packet.knowledge, delta, turn)
    if delta.set_error is not UNSET:
        changed["last_error"] = delta.set_error
        changed["error_count"] = packet.error_count + (delta.set_error is not None)
    if delta.hub_context is not UNSET or delta.hub_freshness is not UNSET:
        changed["hub_context"], changed["hub_freshness"] = _with_hub(packet, delta)
    if delta.extensions is not UNSET:
        new = delta.extensions
        merged = {**packet.extensions, **new}.items()
        changed["extensions"] = {k: v for k, v in merged if v is not None or k not in new}
    return replace(packet, **changed)


def replay(
    events: Iterable[Event | Mapping[str, Any] | str | bytes], *, strict: bool = True
) -> DecisionPacket:
    """Return the packet after the last event of a stream: events, or its lines or dicts.

    This does not call a summarizer, hub, model, tool or tokenizer. Only `recovered` events may
    precede `agent_start`. Raises `ValueError` if any other event precedes it, or if the version of
    the fold or trim rules is unknown. Raises `InvalidEvent` if an event type is unknown or a tool
    result has no tool name. With `strict=False`, such events are accepted, and only their deltas
    are applied.
    """
    recorded = map(recorded_event, events)
    stream = dropwhile(lambda event: event.type == Recovered.type, recorded)
    packet = first_packet(next(stream, None))
    for event in stream:
        if strict:
            check_event(event)
        packet = apply(packet, event.packet_delta)
    return packet


def recorded_event(event: Event | Mapping[str, Any] | str | bytes) -> Event:
    """Return an event of a stream, given as it is or as its line or dict.

    Raises InvalidEvent if it is something else.
    """
    if isinstance(known := read_event(event), Event):
        return known
    raise InvalidEvent(
        "a plain dict is not an event of a stream", hint="pass it to ContextManager.apply_event"
    )


def first_packet(event: Event | None) -> DecisionPacket:
    """Return the packet of `agent_start` with the event's delta applied.

    Raises ValueError if `event` is not an `agent_start` event, or if its fold or trim version is
    not supported.
    """
    start = payload(event) if event is not None else None
    if not isinstance(start, AgentStart) or event is None:
        raise ValueError("a stream to replay must begin with agent_start")
    if (unknown := version_problem(start.fold, start.trim)) is not None:
        raise ValueError(unknown)
    return apply(start.packet, event.packet_delta)


def _with_action(actions: tuple[Action, ...], new: NewAction, turn: int) -> tuple[Action, ...]:
    if actions and _is_same_action(actions[-1], new):
        return (*actions[:-1], replace(actions[-1], turn=turn, count=actions[-1].count + 1))
    action = Action(
        turn=turn, tool=new.tool, args=new.args, summary=new.summary, outcome=new.outcome
    )
    earlier = *actions[:-1], *(_with_short_texts(last) for last in actions[-1:])
    return (*earlier, action)[-MAX_ACTIONS:]


def _with_short_texts(action: Action) -> Action:
    short = shortened(action.args, SUMMARY_LIMIT)
    return action if short == action.args else replace(action, args=short)


def _is_same_action(action: Action, new: NewAction) -> bool:
    return (action.tool, action.summary, action.outcome) == (
        new.tool,
        new.summary,
        new.outcome,
    ) and canonical(action.args) == canonical(new.args)  # compare canonical JSON: 1 is not true


def _with_knowledge(knowledge: dict[str, Fact], delta: PacketDelta, turn: int) -> dict[str, Fact]:
    new = {} if delta.update_knowledge is UNSET else delta.update_knowledge
    gone = {*new, *(() if delta.forget_knowledge is UNSET else delta.forget_knowledge)}
    facts = {key: fact for key, fact in knowledge.items() if key not in gone}
    facts |= {key: Fact(value=value, source_turn=turn) for key, value in new.items()}
    return _within_limits(facts)


def _within_limits(facts: dict[str, Fact]) -> dict[str, Fact]:
    size = canonical_size(facts)
    while len(facts) > MAX_KNOWLEDGE_KEYS or size > MAX_KNOWLEDGE_BYTES:
        if (front := next((key for key in facts if key not in PINNED), None)) is None:
            break
        fact = facts.pop(front)
        # without the two braces, but with the comma between entries
        size -= canonical_size({front: fact}) - 2 + 1
    return facts


def _with_hub(packet: DecisionPacket, delta: PacketDelta) -> tuple[dict[str, Any], dict[str, Any]]:
    context = _with_nodes(packet.hub_context, delta.hub_context)
    freshness = _with_nodes(packet.hub_freshness, delta.hub_freshness)
    for nodes in (context, freshness):
        while len(nodes) > MAX_HUB_NODES:
            oldest = next(iter(nodes))
            context.pop(oldest, None)
            freshness.pop(oldest, None)
    return context, freshness


def _with_nodes(nodes: dict[str, Any], new: dict[str, Any] | UnsetType) -> dict[str, Any]:
    new = {} if new is UNSET else new
    kept = {node: value for node, value in nodes.items() if node not in new}
    return kept | {node: value for node, value in new.items() if value is not None}


FOLD = "fold/1"
"""Name of the fold in streams."""


def version_problem(fold: str, trim: str) -> str | None:
    """Return the reason the stream cannot be replayed, or None if both rules are supported."""
    for name, supported in ((fold, FOLD), (trim, TRIM)):
        if name != supported:
            return f"the stream needs {name[:40]!r}, which is not supported"
    return None
