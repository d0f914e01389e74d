"""Helpers for tests of your own agents, tools and summarizers. They need no store and no model."""

import json
from collections.abc import Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Any

from remora.errors import InvalidEvent
from remora.memory.canonical import json_text
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentStart, ContextUpdate, Event, Payload, ToolResulted, TurnStart
from remora.memory.packet import packet_json
from remora.memory.projection import replay
from remora.memory.tool_results import error_of
from remora.runs.records.packet_diff import PacketChange, packet_json_changes
from remora.text import clip, count
from remora.trace.read.agent_turns import packet_at
from remora.trace.read.reader import read_events
from remora.trace.stream.emitters import NullEventEmitter
from remora.trace.stream.line_builder import Identity

_SHOWN = {
    "add": ("+", ["after"]),
    "remove": ("-", ["before"]),
    "change": ("~", ["before", "after"]),
}
_WIDTH = 200
_UPDATE = "to record it, pass update=True once"


def build_events(
    context: ContextManager | Mapping[str, Any] | str,
    events: Iterable[Mapping[str, Any] | PacketDelta] = (),
) -> list[Event]:
    """Return the events of a stream, as they would be recorded.

    `context` is a ContextManager, for example with your summarizers, or the values of the first
    packet. `events` are plain dicts as for `ContextManager.apply_event`, and deltas of hooks. Each
    is applied to `context`. Raises InvalidEvent if a dict is neither a turn's start, a tool result
    nor facts of the Hub.
    """
    manager = context if isinstance(context, ContextManager) else ContextManager(context)
    first = manager.packet
    run_id, agent_id = first.run_id or "test-run", first.agent_id or "test-1"
    emitter = NullEventEmitter(Identity(run_id, agent_id, first.operation, first.node_id))
    built = [emitter.emit(AgentStart(packet=first), turn=first.turn)]
    for event in events:
        payload, delta = _applied(manager, event)
        built.append(emitter.emit(payload, turn=manager.packet.turn, delta=delta))
    return built


def _applied(
    manager: ContextManager, event: Mapping[str, Any] | PacketDelta
) -> tuple[Payload, PacketDelta]:
    if isinstance(event, PacketDelta):
        deltas = manager.run_middleware([lambda _packet: event])
        return ContextUpdate(source="middleware"), next(iter(deltas), PacketDelta())
    delta = manager.apply_event(event)
    kind, action = event.get("type"), delta.add_action
    if kind == TurnStart.type:
        return TurnStart(), delta
    if kind == "hub_update":
        return ContextUpdate(source="hub"), delta
    if not action:
        raise InvalidEvent(f"cannot build a {kind!r} event from a dict")
    given = {**event, **(event.get("data") or {})}
    outputs: dict[str, Any] = {key: given.get(key) for key in ("raw_output", "parsed_output")}
    error = error_of(given) or (delta.set_error if action.outcome == "error" else None) or None
    call: dict[str, Any] = {"tool": action.tool, "args": action.args, "outcome": action.outcome}
    return ToolResulted(**call, **outputs, error=error), delta


def golden_packets(events: Iterable[Event]) -> dict[str, Any]:
    """Return the packets of a stream as JSON: by turn in `shown`, and at the end in `final`.

    The packet of a turn is what its decision saw.
    """
    events = list(events)
    turns = sorted({0, *(event.turn for event in events)})
    shown = {str(turn): packet_json(packet_at(events, turn)) for turn in turns}
    return {"shown": shown, "final": packet_json(replay(events))}


def check_golden(
    stream: str | Path | Iterable[Event], golden: str | Path, *, update: bool = False
) -> None:
    """Raise AssertionError if the packets of a stream differ from those in the file `golden`.

    `stream` is a stream's file or its events. The error names the first turn that differs, and
    lists its differences by JSON Pointer. With `update`, write the file instead.
    """
    events = read_events(Path(stream)) if isinstance(stream, (str, Path)) else stream
    packets, path = golden_packets(events), Path(golden)
    if update:
        path.write_text(json.dumps(packets, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return
    if not path.exists():
        raise AssertionError(f"{path} does not exist; {_UPDATE}")
    wanted, found = _by_turn(json.loads(path.read_text("utf-8"))), _by_turn(packets)
    different = {
        turn: changes
        for turn in sorted(wanted | found)
        if (changes := packet_json_changes(wanted.get(turn, {}), found.get(turn, {})))
    }
    if different:
        first, *others = different
        where = "the end" if first == inf else f"turn {first:.0f}"
        more = f", and {count(len(others), 'other packet')}" if others else ""
        title = f"{path.name}: the packet of {where} is different{more} ({_UPDATE})"
        raise AssertionError("\n".join([title, *map(_line, different[first])]))


def _by_turn(packets: Mapping[str, Any]) -> dict[float, Any]:
    return {float(turn): shown for turn, shown in packets["shown"].items()} | {
        inf: packets["final"]
    }


def _line(change: PacketChange) -> str:
    sign, values = _SHOWN[change.op]
    texts = (clip(json_text(getattr(change, name)), _WIDTH) for name in values)
    return f"  {sign} {change.path}: {' → '.join(texts)}"
