"""Packet, lines and key of any turn of a long stream."""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from remora.ids import agent_id
from remora.memory.budget import fit
from remora.memory.canonical import canonical_sha256
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
from remora.memory.events import AgentStart, ModelRequest, ToolCalled, ToolResulted, TurnStart
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.memory.prompt.render import render
from remora.trace.read.agent_turns import packet_at
from remora.trace.read.reader import read_events
from remora.trace.read.turn_positions import last_turn, lines_of_turn
from remora.trace.read.verified_reader import recorded_result
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.stream_writer import open_emitter

SIZE = 20_000_000
"""Bytes of the stream."""
LIMIT = 8_000
"""Characters of a request."""
SAMPLES = 9
RUN = "20260101-000000-abcdef"
NODE = "node:src/shop/cart.py:Cart.total"
AGENT = agent_id("lint", RUN, NODE, 1)
IDENTITY = Identity(RUN, AGENT, "lint", NODE)


def main() -> dict[str, float]:
    """Milliseconds for the packet and the lines of a random turn, and for a result by its key."""
    with tempfile.TemporaryDirectory() as root:
        folder = TraceFolder(Path(root))
        folder.create()
        writer = _write(folder)
        writer.close()
        path = writer.path
        size, last = path.stat().st_size, last_turn(path)
        turns = random.Random(1).sample(range(1, last + 1), SAMPLES)
        packet = _median(partial(packet_at, read_events(path), turn) for turn in turns)
        lines = _median(partial(lines_of_turn, path, turn) for turn in turns)
        keys = [f"trace:{RUN}:lint:{NODE}:{turn}" for turn in turns]
        by_key = _median(partial(recorded_result, folder, key) for key in keys)
    print(f"stream                               {size / 1e6:9.1f} MB, {last:,} turns")
    print(f"packet at a random turn              {packet * 1e3:9.1f} ms")
    print(f"lines of a random turn               {lines * 1e3:9.2f} ms")
    print(f"event by its key                     {by_key * 1e3:9.1f} ms")
    return {
        "packet_ms": packet * 1e3,
        "turn_lines_ms": lines * 1e3,
        "entry_ms": by_key * 1e3,
    }


def _median(works: Iterable[Callable[[], object]]) -> float:
    taken = []
    for work in works:
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def _write(folder: TraceFolder) -> JsonlEventEmitter:
    writer = open_emitter(
        folder.agent_stream(AGENT), IDENTITY, blobs=folder.blobs, durability="none"
    )
    packet = DecisionPacket(goal="Fix lint findings", agent_id=AGENT, node_id=NODE)
    memory = ContextManager({"goal": packet.goal, "node_id": NODE})
    writer.emit(AgentStart(packet=packet, renderer="lines/2"), turn=0)
    turn = 0
    while writer.path.stat().st_size < SIZE:
        turn += 1
        packet = _turn(writer, packet, memory, turn)
    return writer


def _turn(
    writer: JsonlEventEmitter, packet: DecisionPacket, memory: ContextManager, turn: int
) -> DecisionPacket:
    """Write a turn as an agent does: the packet is rendered, sent, decided on and learned from."""

    def append(payload: Any, delta: PacketDelta | None = None) -> None:
        nonlocal packet
        packet = apply(packet, writer.emit(payload, turn=turn, delta=delta).packet_delta)

    result = _result(turn)
    append(TurnStart(), PacketDelta(turn=turn))
    shown = fit(packet, LIMIT, _characters)
    named: dict[str, Any] = {"packet_sha256": canonical_sha256(shown.packet), "trim": shown.trim}
    messages = render("lines/2", shown.packet, (), "grammar").messages or ()
    append(ModelRequest(messages=[*map(msgspec.to_builtins, messages)], prompt_tokens=900, **named))
    append(ToolCalled(tool=result["tool"], args=result["args"], decided_by="model", **named))
    append(ToolResulted(**result, duration_ms=3), memory.delta_for(result))
    return packet


def _characters(packet: DecisionPacket) -> int:
    return sum(len(m.content) for m in render("lines/2", packet, (), "grammar").messages or ())


def _result(turn: int) -> dict[str, Any]:
    findings = [
        {"code": f"E{700 + n}", "message": "a name that nobody uses", "line": (turn * n) % 400}
        for n in range(100)
    ]
    return {
        "tool": f"look_{turn % 90}",
        "args": {"path": f"src/shop/part_{turn}.py", "line": turn % 400},
        "raw_output": {"findings": findings},
        "outcome": "success",
    }


if __name__ == "__main__":
    main()
