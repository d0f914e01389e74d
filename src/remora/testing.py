"""Helpers for tests of your own agents, tools and summarizers. They need no store and no model."""

import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from remora.errors import InvalidEvent
from remora.memory.canonical import json_text
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
from remora.memory.events import (
    AgentStart,
    ContextUpdate,
    Event,
    Payload,
    ToolResulted,
    TurnStart,
)
from remora.memory.packet import DecisionPacket, packet_json
from remora.memory.projection import replay
from remora.runs.records.packet_diff import PacketChange, packet_json_changes
from remora.text import clip, count
from remora.trace.read.reader import read_events
from remora.trace.read.state_at import packet_at
from remora.trace.stream.emitters import NullEventEmitter
from remora.trace.stream.line_builder import Identity

_SIGNS = {"add": "+", "remove": "-", "change": "~"}
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
    emitter = NullEventEmitter(
        Identity(
            first.run_id or "test-run", first.agent_id or "test-1", first.operation, first.node_id
        )
    )
    built = [emitter.emit(AgentStart(packet=first), turn=first.turn)]
    for event in events:
        if isinstance(event, PacketDelta):
            delta = next(iter(manager.run_middleware([partial(_given, event)])), PacketDelta())
            payload: Payload = ContextUpdate(source="middleware")
        else:
            delta = manager.apply_event(event)
            payload = _payload(event, delta)
        built.append(emitter.emit(payload, turn=manager.packet.turn, delta=delta))
    return built


def _given(delta: PacketDelta, _packet: DecisionPacket) -> PacketDelta:
    return delta


def _payload(event: Mapping[str, Any], delta: PacketDelta) -> Payload:
    kind = event.get("type", ToolResulted.type)  # a trace entry has none
    if kind == TurnStart.type:
        return TurnStart()
    if kind == "hub_update":
        return ContextUpdate(source="hub")
    if kind != ToolResulted.type or not delta.add_action:
        raise InvalidEvent(f"cannot build a {kind!r} event from a dict")
    action, data = delta.add_action, event.get("data") or {}
    return ToolResulted(
        tool=action.tool,
        args=action.args,
        raw_output=data.get("raw_output", event.get("raw_output")),
        outcome=action.outcome,
    )


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
    expected = json.loads(path.read_text("utf-8"))
    found, wanted = _by_turn(packets), _by_turn(expected)
    different = {
        turn: changes
        for turn in [*wanted, *(turn for turn in found if turn not in wanted)]
        if (changes := packet_json_changes(wanted.get(turn, {}), found.get(turn, {})))
    }
    if different:
        raise AssertionError("\n".join([_title(path, list(different)), *_first(different)]))


def _by_turn(packets: Mapping[str, Any]) -> dict[str, Any]:
    return {f"turn {turn}": packet for turn, packet in packets["shown"].items()} | {
        "the end": packets["final"]
    }


def _title(path: Path, places: list[str]) -> str:
    first, *others = places
    more = f", and {count(len(others), 'other packet')}" if others else ""
    return f"{path.name}: the packet of {first} is different{more} ({_UPDATE})"


def _first(different: Mapping[str, list[PacketChange]]) -> Iterable[str]:
    for change in next(iter(different.values())):
        before, after = (clip(json_text(value), _WIDTH) for value in (change.before, change.after))
        value = {"add": after, "remove": before}.get(change.op, f"{before} → {after}")
        yield f"  {_SIGNS[change.op]} {change.path}: {value}"
