"""Packet of any turn of a long stream, with and without the index; cost of the index."""

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from remora.memory import ContextManager, DecisionPacket, PacketDelta
from remora.memory.budget import fit
from remora.memory.canonical import canonical_sha256
from remora.memory.events import AgentStart, ModelRequest, ToolCalled, ToolResulted, TurnStart
from remora.memory.projection import apply
from remora.memory.prompt.render import render
from remora.trace.index.packet_reader import PacketReader
from remora.trace.index.queries import reindex, trace_queries
from remora.trace.read.reader import read_events
from remora.trace.read.state_at import packet_at
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder

SIZE = 100_000_000
"""Bytes of the stream."""
LIMIT = 8_000
"""Characters of a request."""
SAMPLES = 200
PLAIN, COLD, UPDATES = 9, 3, 15
AGENT = "lint-0123456789ab"
NODE = "node:src/shop/cart.py:Cart.total"
IDENTITY = Identity("20260101-000000-abcdef", AGENT, "lint", NODE)


def main() -> dict[str, float]:
    """Milliseconds for the packet of a random turn, warm and with every view deleted; the same by
    folding from the beginning; MB/s of building the index, milliseconds of an update."""
    with tempfile.TemporaryDirectory() as root:
        folder = TraceFolder(Path(root))
        folder.create()
        writer = _write(folder)
        size, last = writer.path.stat().st_size, _last_turn(folder)
        built = reindex(folder)
        turns = random.Random(1).sample(range(1, last + 1), SAMPLES)
        warm = [_seconds(partial(PacketReader(folder).packet_at, AGENT, turn)) for turn in turns]
        plain = [_seconds(partial(_folded, folder, turn)) for turn in turns[:PLAIN]]
        cold = [_cold(folder, turn) for turn in (*turns[:COLD], last)]
        reindex(folder)
        update = _update(folder, writer, last)
        index = (folder.path / "index.db").stat().st_size
        writer.close()
    p50, p99 = statistics.median(warm), statistics.quantiles(warm, n=100)[98]
    folding = statistics.median(plain)
    print(f"stream                               {size / 1e6:9.1f} MB, {last:,} turns")
    print(f"packet at a random turn, p50         {p50 * 1e3:9.2f} ms   (aim <= 5)")
    print(f"packet at a random turn, p99         {p99 * 1e3:9.2f} ms")
    print(f"by folding from the beginning        {folding * 1e3:9.1f} ms   {folding / p50:.0f} x")
    print(f"with every view deleted              {max(cold) * 1e3:9.1f} ms   (aim <= 1,500)")
    print(f"building the index                   {size / 1e6 / built.seconds:9.1f} MB/s")
    print(f"one more turn, then asked for it     {update * 1e3:9.2f} ms")
    print(f"size of the index                    {100 * index / size:9.2f} % of the stream")
    return {
        "packet_p50_ms": p50 * 1e3,
        "packet_p99_ms": p99 * 1e3,
        "packet_cold_ms": max(cold) * 1e3,
        "fold_over_packet": folding / p50,
        "index_mb_per_second": size / 1e6 / built.seconds,
        "index_update_ms": update * 1e3,
        "index_share_of_stream": index / size,
    }


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _folded(folder: TraceFolder, turn: int) -> DecisionPacket:
    return packet_at(read_events(folder.agent_stream(AGENT)), turn)


def _cold(folder: TraceFolder, turn: int) -> float:
    (folder.path / "index.db").unlink()
    return _seconds(lambda: PacketReader(folder).packet_at(AGENT, turn))


def _update(folder: TraceFolder, writer: JsonlEventEmitter, last: int) -> float:
    """Measure a question after one more turn was written."""
    queries, memory = trace_queries(folder), ContextManager({"goal": "go on"})
    packet, taken = packet_at(read_events(writer.path), last), []
    for turn in range(last + 1, last + 1 + UPDATES):
        packet = _turn(writer, packet, memory, turn)
        key = f"trace:{IDENTITY.run_id}:lint:{NODE}:{turn}"
        taken.append(_seconds(partial(queries.get, key)))
    return statistics.median(taken)


def _last_turn(folder: TraceFolder) -> int:
    return PacketReader(folder).last_turn(AGENT)


def _write(folder: TraceFolder) -> JsonlEventEmitter:
    writer = JsonlEventEmitter.open(
        folder.agent_stream(AGENT), IDENTITY, blobs=folder.blobs, durability="none"
    )
    packet = DecisionPacket(goal="Fix lint findings", agent_id=AGENT, node_id=NODE)
    memory = ContextManager({"goal": packet.goal, "node_id": NODE})
    writer.emit(AgentStart(packet=packet, renderer="lines/1"), turn=0)
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
    messages = render("lines/1", shown.packet, (), "grammar").messages or ()
    append(ModelRequest(messages=[*map(msgspec.to_builtins, messages)], prompt_tokens=900, **named))
    append(ToolCalled(tool=result["tool"], args=result["args"], decided_by="model", **named))
    append(ToolResulted(**result, duration_ms=3), memory.delta_for(result))
    return packet


def _characters(packet: DecisionPacket) -> int:
    return sum(len(m.content) for m in render("lines/1", packet, (), "grammar").messages or ())


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
