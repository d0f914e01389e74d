"""SIGKILL at random times while a process appends: nothing it was told is recorded is lost."""

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from remora.memory.events import Recovered, TurnStart
from remora.trace.read.reader import read_events, stream_status
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.crash.appending import IDENTITY
from tests.forked_process import warm

APPENDING = Path(__file__).parent / "appending.py"
Tail = Callable[[random.Random, bytes], bytes]


def cut(chance: random.Random, tail: bytes) -> bytes:
    return tail[: chance.randrange(len(tail) + 1)]


def holes(chance: random.Random, tail: bytes) -> bytes:
    kept = cut(chance, tail)
    return kept + b"\0" * chance.randrange(1, 9000)


def garbage(chance: random.Random, tail: bytes) -> bytes:
    return cut(chance, tail) + chance.randbytes(chance.randrange(1, 5000))


@dataclass
class Outcome:
    """What many kills did to one stream after another."""

    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    recovered: int = 0
    survived: int = 0


class Rounds:
    """Kills one process after another, each going on with the stream of the one before."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder = folder
        self.mode = mode
        self.outcome = Outcome()
        self.begin_anew(0)

    def begin_anew(self, number: int) -> None:
        self.trace = TraceFolder(self.folder / f"project-{number}")
        self.trace.root.mkdir()
        self.trace.create()
        self.known: dict[int, str] = {}  # the hashes of what must be there, by seq
        self.kept = 0  # bytes of the stream that were safe before this round

    @property
    def path(self) -> Path:
        return self.trace.agent_stream(IDENTITY.agent_id)

    def play(self, count: int) -> Outcome:
        for number in range(count):
            self.play_one(number)
        return self.outcome

    def play_one(self, number: int) -> Outcome:
        if number % 10 == 9:
            self.begin_anew(number)
        chance = random.Random(number)
        sound = self.kill_one(number, chance.uniform(0.001, 0.06))
        if self.mode == "turns":
            self.power_cut(chance, sound)
        self.look(number)
        return self.outcome

    def kill_one(self, number: int, delay: float) -> int:
        """How many bytes the stream had when the process was last told that all is recorded."""
        notes, err = self.trace.root / f"notes-{number}", self.trace.root / "err"
        words = [APPENDING, self.trace.root, notes, self.mode, number, delay]
        status = warm().run(
            list(map(str, words)), cwd=self.trace.root, environ=os.environ, out=err, err=err
        )
        assert status == -9, err.read_text()
        sound = self.kept
        for line in notes.read_text().splitlines() if notes.exists() else []:
            seq, digest, size = line.split()
            self.known[int(seq)] = digest
            sound = int(size)
        self.outcome.acknowledged += len(self.known)
        return sound

    def power_cut(self, chance: random.Random, sound: int) -> None:
        """What was not synced is lost, in one of the ways of file systems."""
        content = self.path.read_bytes() if self.path.exists() else b""
        spoil: Tail = chance.choice([cut, holes, garbage])
        tail = content[sound:] or b'{"v":1,"seq":'
        self.path.write_bytes(content[:sound] + spoil(chance, tail))

    def look(self, number: int) -> None:
        if self.path.exists() and self.mode != "turns":  # garbage may be whole lines of it
            assert stream_status(self.path) == "interrupted"
        with JsonlEventEmitter.open(self.path, IDENTITY, blobs=self.trace.blobs) as writer:
            after = writer.emit(TurnStart(), turn=number)
        events = list(read_events(self.path))
        found = {event.seq: event.hash for event in events}
        self.outcome.lost += [
            f"round {number}: event {seq}"
            for seq, digest in self.known.items()
            if found.get(seq) != digest
        ]
        self.outcome.recovered += sum(event.type == Recovered.type for event in events)
        self.outcome.survived += len(events)
        self.known = {seq: digest for seq, digest in found.items() if seq <= after.seq}
        self.kept = self.path.stat().st_size
        problems = [p for stream in verify_all(self.trace).streams for p in stream.problems]
        # nothing but that a stream of only these events has no beginning
        assert {problem.kind for problem in problems} <= {"schema"}, problems


def check(outcome: Outcome, mode: str) -> None:
    assert outcome.lost == []
    assert outcome.acknowledged > 0
    assert outcome.recovered > 0 or mode == "single", "no kill came in the middle of a line"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", ["single", "split", "turns"])
def test_kills_at_random_times(mode: str, kills: int, tmp_path: Path) -> None:
    check(Rounds(tmp_path, mode).play(kills), mode)
