"""In a stream of twenty events, every changed byte and missing tail is detected."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from remora.errors import StreamDamaged
from remora.memory.events import Recovered
from remora.trace.read.reader import read_events
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.recovery import check_stream
from remora.trace.trace_folder import TraceFolder
from remora.trace.verify.folder_check import verify_all
from tests.trace.conftest import AGENT, Recorder, RunRecorder, agent_identity


class Recorded:
    """A run of one agent, whose stream has twenty events, and what is done to it."""

    def __init__(self, folder: TraceFolder) -> None:
        self.folder = folder
        run = RunRecorder(folder)
        run.job_start()
        agent = Recorder(folder)
        for number in range(3):
            agent.start_turn({"line": number}, {"line": 9})
            agent.decide({"line": number})
            agent.result({"src/a.py": f"{number}".encode()})
        run.job_end(agent.end())
        run.end()
        self.path: Path = folder.agent_stream(AGENT)
        self.content = self.path.read_bytes()
        self.lines = self.content.splitlines(keepends=True)
        assert len(self.lines) == 20

    def with_byte(self, place: int, flip: int) -> bytes:
        changed = bytearray(self.content)
        changed[place] ^= flip
        return bytes(changed)

    def cuts(self) -> range:
        """Sizes of the stream without all of its last two lines."""
        return range(len(self.content) - len(self.lines[-1] + self.lines[-2]), len(self.content))

    def write(self, content: bytes) -> None:
        """In place: of a file that is written anew, some file systems wait for the disk."""
        with self.path.open("r+b") as file:
            file.write(content)
            file.truncate()

    def is_noticed_on_opening(self, content: bytes) -> bool:
        """Refused, or to be moved aside."""
        self.write(content)
        file = os.open(self.path, os.O_RDONLY)
        try:
            return check_stream(file, self.path).torn > 0
        except StreamDamaged:
            return True
        finally:
            os.close(file)

    def is_noticed_by_verify(self, content: bytes) -> bool:
        self.write(content)
        return not verify_all(self.folder, AGENT).ok

    def is_recovered(self, size: int) -> bool:
        """Cut to `size` and opened: all whole lines are there, the rest is told of."""
        self.write(self.content[:size])
        whole = self.content[:size].count(b"\n")
        beside = self.path.with_name(f"{self.path.name}.quarantine-1")
        beside.unlink(missing_ok=True)
        JsonlEventEmitter.open(self.path, agent_identity(), blobs=self.folder.blobs).close()
        events = list(read_events(self.path))
        kept, rest = b"".join(self.lines[:whole]), self.content[:size].rpartition(b"\n")[2]
        assert self.path.read_bytes().startswith(kept)
        assert (beside.read_bytes() if beside.exists() else b"") == rest
        return [event.type for event in events[whole:]] == [Recovered.type] * bool(rest)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    folder = TraceFolder(tmp_path)
    folder.create()
    return Recorded(folder)


def unnoticed_flips(recorded: Recorded, places: Iterable[int]) -> list[int]:
    return [p for p in places if not recorded.is_noticed_by_verify(recorded.with_byte(p, 1))]


def unnoticed_cuts(recorded: Recorded, sizes: Iterable[int]) -> list[int]:
    return [size for size in sizes if not recorded.is_noticed_by_verify(recorded.content[:size])]


def test_unchanged_it_is_sound(recorded: Recorded) -> None:
    assert not recorded.is_noticed_by_verify(recorded.content)
    assert not recorded.is_noticed_on_opening(recorded.content)


@pytest.mark.slow
@pytest.mark.parametrize("flip", [0x01, 0xFF])
def test_no_flipped_byte_is_taken_over_by_a_writer(flip: int, recorded: Recorded) -> None:
    for place in range(len(recorded.content)):
        assert recorded.is_noticed_on_opening(recorded.with_byte(place, flip)), place


def test_some_flipped_bytes_and_cuts_are_found_by_verify(recorded: Recorded) -> None:
    assert unnoticed_flips(recorded, range(0, len(recorded.content), 43)) == []
    ends = (len(recorded.content) - len(recorded.lines[-1]) - near for near in (-1, 0, 1))
    assert unnoticed_cuts(recorded, [*recorded.cuts()[::23], *ends]) == []


@pytest.mark.slow
def test_every_cut_of_the_last_two_lines_is_recovered(recorded: Recorded) -> None:
    assert [size for size in recorded.cuts() if not recorded.is_recovered(size)] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_flipped_byte_and_cut_is_found_by_verify(recorded: Recorded) -> None:
    assert unnoticed_flips(recorded, range(len(recorded.content))) == []
    assert unnoticed_cuts(recorded, recorded.cuts()) == []
