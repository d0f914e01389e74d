"""Append of one event, against a minimal hash-chained log."""

import json
import os
import statistics
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from remora.memory.delta import PacketDelta, new_action
from remora.memory.events import ToolResulted
from remora.trace.content.objects import ObjectStore
from remora.trace.stream.line_builder import Identity
from tests.stream_writer import open_emitter

EVENTS = 20_000
ROUNDS = 3


def main() -> dict[str, float]:
    """Return events per second without sync, and the ratio to `json.dumps` + SHA-256 + `write`."""
    ours, plain = [], []
    for _ in range(ROUNDS):
        plain.append(_baseline())
        ours.append(_remora())
    rate, base = statistics.median(ours), statistics.median(plain)
    print(f"append, {_size()} byte events           {rate:9,.0f} /s   (aim >= 20,000)")
    print(f"json.dumps + sha256 + write          {base:9,.0f} /s   ours is {rate / base:.2f} x")
    return {"append_per_second": rate, "append_over_baseline": rate / base}


def _payload(number: int) -> tuple[ToolResulted, PacketDelta]:
    args = {"code": "F401", "line": number % 500}
    return (
        ToolResulted(tool="apply_fix", args=args, raw_output={"fixed": 1, "left": ["E722"] * 2}),
        PacketDelta(
            turn=number, add_action=new_action("apply_fix", args, "Fixed 1, 2 left", "success")
        ),
    )


def _identity() -> Identity:
    return Identity(
        "20260101-000000-abcdef", "lint-0123456789ab", "lint", "node:shop/orders.py:total"
    )


def _remora() -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.jsonl"
        blobs = ObjectStore(Path(folder) / "blobs")
        with open_emitter(path, _identity(), blobs=blobs, durability="none") as writer:
            start = time.perf_counter()
            for number in range(EVENTS):
                payload, delta = _payload(number)
                writer.emit(payload, turn=number, delta=delta)
            return EVENTS / (time.perf_counter() - start)


def _size() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.jsonl"
        blobs = ObjectStore(Path(folder) / "blobs")
        with open_emitter(path, _identity(), blobs=blobs, durability="none") as writer:
            payload, delta = _payload(1)
            writer.emit(payload, turn=1, delta=delta)
        return path.stat().st_size


def _baseline() -> float:
    """Write log lines with a running hash by the standard library, without checks."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.open(Path(folder) / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        digest = "0" * 64
        start = time.perf_counter()
        for number in range(EVENTS):
            event = {
                "v": 1,
                "seq": number,
                "timestamp": "2026-01-01T00:00:00.000000Z",
                "run_id": "20260101-000000-abcdef",
                "agent_id": "lint-0123456789ab",
                "operation": "lint",
                "node_id": "node:shop/orders.py:total",
                "turn": number,
                "type": "tool_result",
                "data": {"tool": "apply_fix", "args": {"code": "F401", "line": number % 500}},
                "packet_delta": {"turn": number, "add_action": {"summary": "Fixed 1, 2 left"}},
            }
            body = json.dumps(event, separators=(",", ":"))[:-1]
            digest = sha256((digest + body).encode()).hexdigest()
            os.write(file, f'{body},"hash":"{digest}"}}\n'.encode())
        seconds = time.perf_counter() - start
        os.close(file)
        return EVENTS / seconds


if __name__ == "__main__":
    main()
