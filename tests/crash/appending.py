"""A process that appends to a stream until it is killed, and notes what it was told is recorded.

    python appending.py ROOT NOTES MODE SEED DELAY

MODE `single` writes as the product does, `split` in pieces with pauses in between; `turns` notes
events only when their turn was synced. A line of NOTES is: seq, hash, bytes of the stream.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from remora.errors import RemoraError
from remora.memory.events import ContextUpdate, Event
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder

IDENTITY = Identity("run-1", "lint-crash", "lint", "node:a.py:f")


def kill_after(seconds: float) -> None:
    """Fork who kills this process; before the stream is open, or it would hold its lock."""
    if os.fork() == 0:
        time.sleep(seconds)
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(0)


def split_writes(chance: random.Random) -> None:
    """Let a line reach its file in up to five pieces."""
    whole = os.write

    def pieces(file: int, data: bytes) -> int:
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(4))
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            whole(file, data[start:end])
            time.sleep(0.0004)
        return len(data)

    os.write = pieces  # type: ignore[assignment]


def main(root: str, notes: str, mode: str, seed: str, delay: str) -> None:
    chance = random.Random(int(seed))
    folder = TraceFolder(Path(root))
    path = folder.agent_stream(IDENTITY.agent_id)
    said = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    say = os.write
    os.fsync = os.fdatasync = os.fstat  # type: ignore[assignment]
    kill_after(float(delay))
    if mode == "split":
        split_writes(chance)

    def note(event: Event) -> None:
        say(said, b"%d %b %d\n" % (event.seq, event.hash.encode(), path.stat().st_size))

    with JsonlEventEmitter.open(path, IDENTITY, blobs=folder.blobs) as writer:
        turn, events = 0, list[Event]()
        while True:
            turn += 1
            for _ in range(chance.randrange(1, 6)):
                size = 70_000 if chance.random() < 0.02 else chance.randrange(900)
                value = chance.randbytes(size // 2).hex()
                events.append(writer.emit(ContextUpdate(source="hub", value=value), turn=turn))
                if mode != "turns":
                    note(events[-1])
            writer.end_turn()
            if mode == "turns":
                note(events[-1])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except RemoraError as error:
        sys.exit(f"{type(error).__name__}: {error.message}")
