"""Projection step late in a stream, and typed decoding against `json.loads`."""

import json
import time
from collections.abc import Callable, Iterator
from itertools import islice
from statistics import median
from typing import Any

import msgspec

from remora.chat import Message
from remora.memory.budget import fit
from remora.memory.context import ContextManager
from remora.memory.delta import PacketDelta
from remora.memory.events import Event, decode_event, payload
from remora.memory.packet import DecisionPacket
from remora.memory.projection import apply
from remora.memory.prompt.render import render

EARLY, LATE = 1_000, 100_000
WINDOW = 500
"""Events of which the cost of one step is the mean."""
ROUNDS = 15
LIMIT = 2_400
"""Characters of a request: about the 600 tokens that the embedded model is given."""
TYPES = ("turn_start", "context_update", "model_request", "tool_call", "tool_result")
NODE = "node:src/shop/cart.py:Cart.total"


def main() -> dict[str, float]:
    """Return the cost of one `apply` at event 100,000 over that at 1,000; decoding rates over `json.loads`."""
    step = _late_over_early()
    decode, whole = _decode_over_json()
    print(f"apply at event {LATE:,} / at {EARLY:,}   {step:5.2f} x   (aim <= 1.2)")
    print(f"decode_event / json.loads             {decode:5.2f} x   (aim >= 4)")
    print(f"decode_event + payload / json.loads   {whole:5.2f} x")
    return {
        "apply_late_over_early": step,
        "decode_event_over_json": decode,
        "decode_and_payload_over_json": whole,
    }


def _late_over_early() -> float:
    deltas = list(islice(_deltas(), WINDOW))
    early, late = _packets_at(EARLY, LATE)
    ratios = []
    for _ in range(ROUNDS):
        before = _seconds(lambda: _fold(early, deltas))
        ratios.append(_seconds(lambda: _fold(late, deltas)) / before)
    return median(ratios)


def _decode_over_json() -> tuple[float, float]:
    lines = list(islice(_lines(), WINDOW))
    typed, whole = [], []
    for _ in range(ROUNDS):
        plain = _seconds(lambda: [json.loads(line) for line in lines])
        typed.append(plain / _seconds(lambda: [decode_event(line) for line in lines]))
        whole.append(plain / _seconds(lambda: [payload(decode_event(line)) for line in lines]))
    return median(typed), median(whole)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _fold(packet: DecisionPacket, deltas: list[PacketDelta]) -> DecisionPacket:
    for delta in deltas:
        packet = apply(packet, delta)
    return packet


def _packets_at(*places: int) -> Iterator[DecisionPacket]:
    packet = DecisionPacket(goal="Fix lint findings", node_id=NODE)
    for number, delta in enumerate(islice(_deltas(), max(places)), 1):
        packet = apply(packet, delta)
        if number in places:
            yield packet


def _deltas() -> Iterator[PacketDelta]:
    """Yield five events a turn, as an agent writes them; every turn adds a fact about another file."""
    memory = ContextManager({"goal": "Fix lint findings", "node_id": NODE})
    turn = 0
    while True:
        turn += 1
        yield PacketDelta(turn=turn)
        yield PacketDelta(
            hub_context={f"{NODE}{turn % 7}": {"signature": "def total(self) -> int"}}
        )
        yield from (PacketDelta(), PacketDelta())
        yield memory.delta_for(_tool_result(turn))


def _tool_result(turn: int) -> dict[str, Any]:
    return {
        "tool": f"look_{turn % 90}",
        "args": {"path": f"src/shop/part_{turn}.py", "line": turn % 400},
        "raw_output": {"findings": [_finding(turn + n) for n in range(12)]},
        "outcome": "success",
    }


def _finding(number: int) -> dict[str, Any]:
    place = {"path": f"src/shop/part_{number % 60}.py", "line": number % 400, "column": 5}
    return {"code": f"E{700 + number % 60}", "message": "a name that nobody uses", **place}


def _lines() -> Iterator[bytes]:
    """Return the lines of such a stream, with the data of each event type."""
    packet = DecisionPacket(goal="Fix lint findings", node_id=NODE)
    for seq, delta in enumerate(_deltas()):
        packet = apply(packet, delta)
        kind = TYPES[seq % len(TYPES)]
        event = Event(
            v=1,
            seq=seq,
            timestamp="2026-11-20T09:00:00.000000Z",
            run_id="20261120-090000-abcdef",
            agent_id="lint-0123456789ab",
            operation="lint",
            node_id=NODE,
            turn=packet.turn,
            type=kind,
            data=msgspec.Raw(msgspec.json.encode(_data(kind, packet))),
            packet_delta=delta,
            hash="0" * 64,
        )
        yield msgspec.json.encode(event)


def _data(kind: str, packet: DecisionPacket) -> dict[str, Any]:
    result = _tool_result(packet.turn)
    match kind:
        case "context_update":
            return {"source": "hub", "value": {NODE: {"signature": "def total(self) -> int"}}}
        case "model_request":
            messages = _rendered(fit(packet, LIMIT, _size).packet)
            return {"messages": messages, "renderer": "lines/2", "packet_sha256": "0" * 64}
        case "tool_call":
            return {"tool": result["tool"], "args": result["args"], "packet_sha256": "0" * 64}
        case "tool_result":
            return {**result, "duration_ms": 3, "isolation": "L3", "changes": []}
    return {}


def _rendered(packet: DecisionPacket) -> tuple[Message, ...]:
    return render("lines/2", packet, (), "grammar").messages or ()


def _size(packet: DecisionPacket) -> int:
    return sum(len(message.content) for message in _rendered(packet))


if __name__ == "__main__":
    main()
