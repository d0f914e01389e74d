"""Durable appends, against LangGraph's saver and eventsourcing."""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).parents[1]))

from remora.memory.delta import PacketDelta, new_action
from remora.memory.events import ToolResulted
from remora.trace.content.objects import ObjectStore
from remora.trace.stream.line_builder import Durability, Identity
from tests.stream_writer import open_emitter

EVENTS = 160
TURN = 8
"""Events of a turn: its start, facts, candidates, request, answer, call, result, and one more."""
ROUNDS = 15
FEW, MANY = 1_000, 100_000
PUTS = (100, 200, 400)
IDENTITY = Identity("20260101-000000-abcdef", "lint-0123456789ab", "lint", "node:shop/a.py:total")


def main() -> dict[str, float]:
    """Return events per second. Disk speed varies, so ratios are medians over rounds."""
    rates: dict[str, list[float]] = {name: [] for name in ARMS}
    for number in range(ROUNDS):
        names = list(ARMS)[:: -1 if number % 2 else 1]
        for name in names:
            rates[name].append(ARMS[name]())
    for name, found in rates.items():
        print(f"{name:42} {statistics.median(found):9,.0f} events/s")
    ratios = {name: _ratio(rates[over], rates[under]) for name, (over, under, _) in RATIOS.items()}
    for name, (_, _, aim) in RATIOS.items():
        print(f"{name:42} {ratios[name]:9.2f} x   (aim >= {aim})")
    return ratios | _sizes()


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def _sizes() -> dict[str, float]:
    few, many = _bytes_each(FEW), _bytes_each(MANY)
    print(f"bytes on disk for each of {FEW:,} events       {few:9,.0f}")
    print(f"bytes on disk for each of {MANY:,} events     {many:9,.0f}   {many / few:.3f} x")
    grown = [_langgraph_bytes_each(count) for count in PUTS]
    for count, found in zip(PUTS, grown, strict=True):
        print(f"LangGraph, for each of {count} puts            {found:9,.0f}")
    print(
        f"LangGraph, {PUTS[-1] // PUTS[0]} times the puts             {grown[-1] / grown[0]:9.2f} x"
    )
    return {"bytes_many_over_few": many / few, "langgraph_bytes_growth": grown[-1] / grown[0]}


@contextmanager
def _folder() -> Iterator[Path]:
    """Return a folder on disk: in a memory file system a sync measures nothing."""
    place = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


def _event(number: int) -> dict[str, Any]:
    args = {"code": "F401", "line": number % 500}
    return {"tool": "apply_fix", "args": args, "raw_output": {"fixed": 1, "left": ["E722"] * 9}}


def _ours(folder: Path, count: int, durability: Durability) -> tuple[float, int]:
    """Return seconds, and bytes of the stream."""
    path = folder / "stream.jsonl"
    blobs = ObjectStore(folder / "blobs")
    events = [_recorded(number) for number in range(min(count, 1_000))]
    with open_emitter(path, IDENTITY, blobs=blobs, durability=durability) as writer:
        start = time.perf_counter()
        for number in range(count):
            payload, delta = events[number % 1_000]
            writer.emit(payload, turn=number // TURN, delta=delta)
            if number % TURN == TURN - 1:
                writer.end_turn()
        seconds = time.perf_counter() - start
    return seconds, path.stat().st_size


def _recorded(number: int) -> tuple[ToolResulted, PacketDelta]:
    event = _event(number)
    action = new_action("apply_fix", event["args"], "Fixed 1, 2 left", "success")
    return ToolResulted(**event), PacketDelta(turn=number // TURN, add_action=action)


def _rate(durability: Durability) -> float:
    with _folder() as folder:
        return EVENTS / _ours(folder, EVENTS, durability)[0]


def _bytes_each(count: int) -> float:
    with _folder() as folder:
        return _ours(folder, count, "none")[1] / count


def _eventsourcing() -> float:
    """Run eventsourcing's recorder alone, without aggregates or mapping: its minimum per event."""
    from eventsourcing.persistence import StoredEvent
    from eventsourcing.sqlite import SQLiteAggregateRecorder, SQLiteDatastore

    with _folder() as folder:
        store = SQLiteDatastore(str(folder / "events.db"))
        recorder = SQLiteAggregateRecorder(store)
        recorder.create_table()
        stream = uuid4()
        start = time.perf_counter()
        for number in range(EVENTS):
            state = json.dumps(_event(number)).encode()
            recorder.insert_events([StoredEvent(stream, number + 1, "tool_result", state)])
        seconds = time.perf_counter() - start
        store.close()
    return EVENTS / seconds


def _langgraph() -> float:
    """Run LangGraph with only the newest event in its state: its minimum per step."""
    with _folder() as folder:
        return EVENTS / _puts(folder, EVENTS, keep=1)


def _langgraph_bytes_each(count: int) -> float:
    """Return bytes per put with a growing state, like an agent's messages."""
    with _folder() as folder:
        _puts(folder, count, keep=count)
        return sum(path.stat().st_size for path in folder.iterdir()) / count


def _puts(folder: Path, count: int, keep: int) -> float:
    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.sqlite import SqliteSaver

    config: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        saver.setup()
        happened: list[dict[str, Any]] = []
        start = time.perf_counter()
        for number in range(count):
            happened = [*happened, _event(number)][-keep:]
            checkpoint = empty_checkpoint() | {"channel_values": {"happened": happened}}
            metadata: Any = {"source": "loop", "step": number}
            config = saver.put(config, checkpoint, metadata, {"happened": number})
        return time.perf_counter() - start


OURS_BY_EVENT = "ours, each event synced"
OURS_BY_TURN = f"ours, each turn of {TURN} events synced"
LANGGRAPH = "LangGraph SqliteSaver, each put synced"
EVENTSOURCING = "eventsourcing (SQLite), each event synced"
ARMS: dict[str, Callable[[], float]] = {
    OURS_BY_EVENT: lambda: _rate("event"),
    OURS_BY_TURN: lambda: _rate("turn"),
    LANGGRAPH: _langgraph,
    EVENTSOURCING: _eventsourcing,
}
RATIOS = {
    "turn_over_event_sync": (OURS_BY_TURN, OURS_BY_EVENT, 4),
    "event_sync_over_langgraph": (OURS_BY_EVENT, LANGGRAPH, 1),
    "event_sync_over_eventsourcing": (OURS_BY_EVENT, EVENTSOURCING, 1),
    "turn_over_langgraph": (OURS_BY_TURN, LANGGRAPH, 3),
    "turn_over_eventsourcing": (OURS_BY_TURN, EVENTSOURCING, 3),
}

if __name__ == "__main__":
    main()
