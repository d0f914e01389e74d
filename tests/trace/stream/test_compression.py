"""Compressed streams: read like plain ones, restored for writing, never lost in between."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import pytest
import zstandard

from remora.errors import DiskError, NotFound, StreamDamaged, StreamError, StreamLocked
from remora.trace import stream_lock
from remora.trace.content import zstd_file
from remora.trace.read.agent_turns import packet_at
from remora.trace.read.event_summary import transcript
from remora.trace.read.reader import (
    last_event,
    list_streams,
    open_stream,
    read_events,
    stream_status,
)
from remora.trace.stream import compression as module
from remora.trace.stream.compression import compress_stream, open_for_writing
from remora.trace.trace_folder import (
    TraceFolder,
    compressed_path,
    is_compressed,
    plain_path,
    stream_id,
)
from tests.trace.conftest import AGENT, Recorder, play_run


def names(path: Path) -> list[str]:
    return sorted(child.name for child in path.parent.iterdir() if child.name != ".gitignore")


def decompress_stream(path: Path) -> None:
    """What a writer does first."""
    os.close(open_for_writing(path))


@pytest.fixture
def path(folder: TraceFolder) -> Path:
    """An agent's stream that has ended."""
    play_run(folder)
    return folder.agent_stream(AGENT)


@pytest.mark.parametrize("name", ["a", "a.jsonl", "a.jsonl.zst", "jsonl", "a-b.c_d"])
def test_both_paths_of_a_stream_spell_its_id(name: str, folder: TraceFolder) -> None:
    plain = folder.agent_stream(name)
    assert stream_id(plain) == stream_id(compressed_path(plain)) == name
    assert plain_path(compressed_path(plain)) == plain_path(plain) == plain
    assert is_compressed(compressed_path(plain))
    assert not is_compressed(plain)


class TestReading:
    def test_everything_reads_it_from_either_path(self, path: Path, folder: TraceFolder) -> None:
        events, last, status = list(read_events(path)), last_event(path), stream_status(path)
        (before,) = list_streams(folder)
        packet, told = packet_at(events, 3), list(transcript(events))
        bytes_before = path.stat().st_size
        size = compress_stream(path)
        assert names(path) == [f"{AGENT}.jsonl.zst"]
        for place in (path, compressed_path(path)):
            assert list(read_events(place)) == events
            assert last_event(place) == last
            assert stream_status(place) == status == "verified"
            assert packet_at(read_events(place), 3) == packet
            assert list(transcript(read_events(place))) == told
        (info,) = list_streams(folder)
        assert (info.bytes, info.events, info.turns) == (size, before.events, before.turns)
        assert size < bytes_before

    def test_zstd_gives_the_bytes_and_so_the_hash(self, path: Path) -> None:
        content = path.read_bytes()
        assert compress_stream(path) == compressed_path(path).stat().st_size
        made = compressed_path(path).read_bytes()
        decompressor = zstandard.ZstdDecompressor()
        assert decompressor.stream_reader(made, read_across_frames=True).read() == content

    def test_the_folder_names_each_stream_once(self, path: Path, folder: TraceFolder) -> None:
        content = path.read_bytes()
        compress_stream(path)
        assert list(folder.agent_streams()) == [compressed_path(path)]
        assert folder.existing_agent(AGENT) == compressed_path(path)
        path.write_bytes(content)
        assert list(folder.agent_streams()) == [path]
        assert folder.existing_agent(AGENT) == path
        with pytest.raises(NotFound) as error:
            folder.existing_agent("lint-df01")
        assert AGENT in str(error.value)

    def test_of_two_files_the_plain_one_is_the_stream(self, path: Path) -> None:
        events = list(read_events(path))
        first = path.read_bytes().split(b"\n")[0] + b"\n"
        compress_stream(path)
        path.write_bytes(first)
        assert list(read_events(compressed_path(path))) == events[:1]
        path.write_bytes(b"")
        assert list(read_events(path)) == events

    def test_a_link_is_not_followed(self, path: Path, tmp_path: Path) -> None:
        compress_stream(path)
        compressed_path(path).rename(tmp_path / "elsewhere.zst")
        compressed_path(path).symlink_to(tmp_path / "elsewhere.zst")
        with pytest.raises(DiskError):
            list(read_events(path))
        with pytest.raises(DiskError):
            decompress_stream(path)

    def test_a_damaged_file_is_reported(self, path: Path, folder: TraceFolder) -> None:
        compress_stream(path)
        made = compressed_path(path).read_bytes()
        compressed_path(path).write_bytes(made[:100] + bytes([made[100] ^ 1]) + made[101:])
        with pytest.raises(StreamDamaged, match=rf"{AGENT}.jsonl.zst is damaged"):
            list(read_events(path))
        with pytest.raises(StreamDamaged):
            decompress_stream(path)
        assert names(path) == [f"{AGENT}.jsonl.zst"]
        assert [info.status for info in list_streams(folder)] == ["damaged"]
        compressed_path(path).write_bytes(made[:-1])
        with pytest.raises(StreamDamaged, match="truncated"), open_stream(path):
            pass
        assert compressed_path(path).read_bytes() == made[:-1]


class TestCompression:
    @pytest.mark.needs("/proc")
    def test_a_live_writer_is_left_alone(self, folder: TraceFolder) -> None:
        agent = Recorder(folder)
        with pytest.raises(StreamLocked, match=f"process {os.getpid()}"):
            compress_stream(agent.writer.path)
        assert names(agent.writer.path) == [f"{AGENT}.jsonl"]
        agent.writer.close()

    def test_an_empty_stream_is_not_compressed(self, folder: TraceFolder) -> None:
        folder.agent_stream("a").touch()
        with pytest.raises(StreamError, match="empty"):
            compress_stream(folder.agent_stream("a"))
        assert names(folder.agent_stream("a")) == ["a.jsonl"]

    def test_what_does_not_give_the_bytes_back_is_not_kept(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        content = path.read_bytes()
        monkeypatch.setattr(
            module, "compressed", lambda pieces: zstd_file.compressed([b"".join(pieces)[1:]])
        )
        with pytest.raises(StreamDamaged, match="same bytes"):
            compress_stream(path)
        assert path.read_bytes() == content
        assert names(path) == [path.name]

    def test_compressing_again_is_what_ends_a_kill_between_both_files(self, path: Path) -> None:
        content = path.read_bytes()
        compress_stream(path)
        made = compressed_path(path).read_bytes()
        path.write_bytes(content)
        compress_stream(path)
        assert names(path) == [compressed_path(path).name]
        assert compressed_path(path).read_bytes() == made

    def test_a_stream_that_is_thawed_just_now_is_not_compressed_over(self, path: Path) -> None:
        content = path.read_bytes()
        compress_stream(path)
        thawing = open_for_writing(path)
        with pytest.raises(StreamLocked):
            compress_stream(path)
        with pytest.raises(StreamLocked):
            open_for_writing(path)
        os.close(thawing)
        assert path.read_bytes() == content


class TestThawing:
    def test_the_bytes_are_what_they_were(self, path: Path) -> None:
        content = path.read_bytes()
        decompress_stream(path)
        compress_stream(path)
        decompress_stream(path)
        assert names(path) == [path.name]
        assert path.read_bytes() == content

    def test_a_plain_stream_is_never_overwritten(self, path: Path) -> None:
        compress_stream(path)
        path.write_bytes(b"mine")
        decompress_stream(path)
        assert path.read_bytes() == b"mine"

    def test_a_writer_sees_that_it_opened_the_wrong_file(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        content = path.read_bytes()
        compress_stream(path)
        path.touch()  # a writer was killed before it thawed
        lock_stream, opened = stream_lock.lock_stream, list[int]()

        def delayed(file: int, place: Path) -> None:
            """Another writer thaws the stream between the opening and the lock."""
            opened.append(file)
            if len(opened) == 1:
                decompress_stream(path)
            lock_stream(file, place)

        monkeypatch.setattr(stream_lock, "lock_stream", delayed)
        file = open_for_writing(path)
        assert os.path.samestat(os.fstat(file), path.stat())
        os.close(file)
        assert path.read_bytes() == content
        assert names(path) == [path.name]

    def test_of_many_at_once_one_does_it(self, path: Path) -> None:
        content, thawed = path.read_bytes(), list[int]()

        def thaw() -> None:
            with suppress(StreamLocked):
                thawed.append(open_for_writing(path))

        for number in range(1, 11):
            compress_stream(path)
            threads = [threading.Thread(target=thaw) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(thawed) == 1, f"round {number}"
            os.close(thawed.pop())
            assert names(path) == [path.name]
            assert path.read_bytes() == content


CHILD = """
import os
import sys
from pathlib import Path
from remora.trace.stream.compression import compress_stream, open_for_writing
path = Path(sys.argv[1])
print("ready", flush=True)
while True:
    compress_stream(path)
    os.close(open_for_writing(path))
"""


@pytest.mark.parametrize("rounds", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_loses_nothing(rounds: int, path: Path, folder: TraceFolder) -> None:
    with path.open("ab") as file:  # larger: so that a kill often comes in the middle
        file.write(os.urandom(2 << 20).hex().encode() + b"\n")
    digest, seen = sha256(path.read_bytes()).digest(), set()
    for number in range(rounds):
        child = subprocess.Popen([sys.executable, "-c", CHILD, path], stdout=subprocess.PIPE)
        assert child.stdout
        child.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.002 + 0.09 * (number * 0.618 % 1))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        seen.add(tuple(sorted(name.rpartition("-")[0] or name for name in names(path))))
        with open_stream(path) as source:
            assert sha256(source.pread(source.size(), 0)).digest() == digest
        decompress_stream(path)
        assert sha256(path.read_bytes()).digest() == digest
    assert len(seen) > 1, f"every kill came at the same place: {seen}"
    assert stream_id(next(folder.agent_streams())) == AGENT


def test_a_reader_finds_a_stream_that_is_compressed_and_thawed_all_the_time(path: Path) -> None:
    events = list(read_events(path))
    child = subprocess.Popen([sys.executable, "-c", CHILD, path], stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    seen, reads = set[bool](), 0
    while reads < 300 or (len(seen) < 2 and reads < 30_000):
        with suppress(FileNotFoundError):
            seen.add(path.stat().st_size > 0)
        assert list(read_events(path)) == events
        reads += 1
    child.kill()
    child.communicate()
    assert seen == {True, False}


def test_a_writer_continues_where_a_compressed_stream_ended(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    agent.start_turn()
    agent.writer.close()
    path, head = agent.writer.path, agent.writer.head
    compress_stream(path)
    agent.reopen()
    assert agent.writer.head == head
    agent.start_turn()
    agent.writer.close()
    assert names(path) == [path.name]
    assert [event.seq for event in read_events(path)] == list(range(agent.writer.head.count))
