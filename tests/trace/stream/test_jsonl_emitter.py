"""Emitters: the same events from all; bytes on disk, one writer, torn tails, disk errors."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.errors import DiskError, StreamDamaged, StreamError, StreamLocked, StreamWriteFailed
from remora.memory.delta import PacketDelta
from remora.memory.events import (
    AgentEnd,
    ContextUpdate,
    Event,
    Head,
    Payload,
    Recovered,
    TurnStart,
    decode_event,
    payload,
)
from remora.trace.read.event_summary import transcript
from remora.trace.read.reader import read_events, read_lines
from remora.trace.stream.emitters import EventEmitter, NullEventEmitter
from remora.trace.stream.jsonl_emitter import JsonlEventEmitter
from remora.trace.stream.line_builder import Durability, Identity
from remora.trace.trace_folder import TraceFolder
from tests.clock import ticking
from tests.stream_writer import open_emitter
from tests.trace.conftest import AGENT, RUN, agent_identity, play_agent, play_run

KEYS = ["v", "seq", "timestamp", "run_id", "agent_id", "operation", "node_id", "turn", "type"]
KEYS += ["data", "packet_delta", "hash"]


def open_stream(
    folder: TraceFolder, name: str = AGENT, durability: Durability = "turn"
) -> JsonlEventEmitter:
    return open_emitter(
        folder.agent_stream(name),
        agent_identity(name),
        blobs=folder.blobs,
        durability=durability,
        clock=ticking(),
    )


def three_events(folder: TraceFolder) -> Path:
    with open_stream(folder) as writer:
        for number in range(3):
            writer.emit(ContextUpdate(source="hub", value="x" * number), turn=number)
    return writer.path


class TestBytes:
    def test_each_line_is_what_the_format_says(self, folder: TraceFolder) -> None:
        play_agent(folder).writer.close()
        previous = "0" * 64
        content = folder.agent_stream(AGENT).read_bytes()
        assert content.endswith(b"\n")
        for number, line in enumerate(content[:-1].split(b"\n")):
            record = json.loads(line)
            assert list(record) == KEYS
            assert (record["v"], record["seq"], record["run_id"]) == (1, number, RUN)
            assert re.fullmatch(r"2026-01-02T03:\d\d:\d\d\.000006Z", record["timestamp"])
            body, frame, rest = line.rpartition(b',"hash":"')
            assert frame + rest == b',"hash":"' + record["hash"].encode() + b'"}'
            assert record["hash"] == sha256(previous.encode() + body).hexdigest()
            previous = record["hash"]

    @pytest.mark.slow
    @given(
        value=st.recursive(
            st.none()
            | st.floats()
            | st.integers()
            | st.binary(max_size=9)
            | st.text(st.characters(), max_size=9)
            | st.builds(object),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
        )
    )
    def test_any_value_is_recorded_and_what_append_returns_is_what_is_read(
        self, value: Any, folder: TraceFolder
    ) -> None:
        delta = PacketDelta(turn=1, set_error=None, update_knowledge={"a": [1]})
        folder.agent_stream(AGENT).unlink(missing_ok=True)
        with open_stream(folder, durability="none") as writer:
            event = writer.emit(ContextUpdate(source="hub", value=value), turn=1, delta=delta)
        (line,) = read_lines(writer.path)
        assert decode_event(line) == event
        assert event.packet_delta == delta
        assert json.loads(line)["data"]["source"] == "hub"

    def test_a_run_writes_with_empty_names(self, folder: TraceFolder) -> None:
        path = folder.run_stream("r")
        with open_emitter(path, Identity("r"), blobs=folder.blobs) as writer:
            event = writer.emit(ContextUpdate(source="hub"), turn=0)
        assert (event.run_id, event.agent_id, event.operation, event.node_id) == ("r", "", "", "")

    def test_what_json_cannot_hold_in_a_delta_is_refused_before_anything_is_written(
        self, folder: TraceFolder
    ) -> None:
        with open_stream(folder) as writer:
            writer.emit(TurnStart(), turn=1)
            with pytest.raises(StreamError, match="cannot be written"):
                writer.emit(TurnStart(), turn=1, delta=PacketDelta(state_summary="\ud800"))
            writer.emit(TurnStart(), turn=1)
        assert [event.seq for event in read_events(writer.path)] == [0, 1]


class TestReopening:
    def test_it_continues_numbers_and_hashes(self, folder: TraceFolder) -> None:
        path = three_events(folder)
        with open_stream(folder) as writer:
            assert writer.head == Head(count=3, hash=list(read_events(path))[-1].hash)
            event = writer.emit(TurnStart(), turn=3)
        assert (event.seq, writer.head) == (3, Head(count=4, hash=event.hash))

    def test_a_closed_writer_takes_no_more(self, folder: TraceFolder) -> None:
        writer = open_stream(folder)
        writer.close()
        writer.close()
        with pytest.raises(StreamError, match="closed"):
            writer.emit(TurnStart(), turn=1)

    @pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
    def test_what_is_not_a_regular_file_is_refused(self, kind: str, folder: TraceFolder) -> None:
        path = folder.agent_stream(AGENT)
        outside = folder.root / "outside"
        outside.touch()
        {"link": lambda: path.symlink_to(outside), "fifo": lambda: os.mkfifo(path)}.get(
            kind, path.mkdir
        )()
        with pytest.raises(DiskError):
            open_stream(folder)
        assert outside.read_bytes() == b""


def cut_after(count: int) -> Callable[[bytes], bytes]:
    return lambda content: content[:count]


TORN: dict[str, Callable[[bytes], bytes]] = {
    "no newline": lambda c: c[:-1],
    "half a line": lambda c: c[:-100],
    "one byte": lambda c: c + b"{",
    "zeros": lambda c: c + b"\0" * 5000,
    "zeros and a newline": lambda c: c + b"\0" * 50 + b"\n",
    "an empty line": lambda c: c + b"\n",
    "half a line and a newline": lambda c: c[:-100] + b"\n",
    "a page of the last line lost": lambda c: c[:-90] + b"\0" * 10 + c[-80:],
    "garbage in lines": lambda c: c[:-100] + b"\xff\n\n{}\n\x80 \n",
    "only half a line": cut_after(40),
    "only zeros": lambda _: b"\0" * 4096,
}


class TestTornTail:
    @pytest.mark.parametrize("cut", TORN.values(), ids=TORN)
    def test_it_is_moved_aside_and_the_sound_lines_continue(
        self, cut: Callable[[bytes], bytes], folder: TraceFolder
    ) -> None:
        path = three_events(folder)
        torn = cut(path.read_bytes())
        path.write_bytes(torn)
        with open_stream(folder) as writer:
            appended = writer.emit(TurnStart(), turn=9)
        *sound, recovered, last = read_events(path)
        content = path.read_bytes()
        kept = b"".join(line + b"\n" for line in list(read_lines(path))[: len(sound)])
        note = payload(recovered)
        assert torn.startswith(kept)
        assert content.startswith(kept)
        assert isinstance(note, Recovered)
        quarantined = (path.parent / note.quarantine).read_bytes()
        assert kept + quarantined == torn
        assert note.quarantine == f"{AGENT}.jsonl.quarantine-1"
        assert (note.bytes, note.sha256) == (len(quarantined), sha256(quarantined).hexdigest())
        assert [event.seq for event in (*sound, recovered, last)] == list(range(len(sound) + 2))
        assert recovered.turn == (sound[-1].turn if sound else 0)
        assert last == appended

    def test_a_second_one_gets_the_next_number(
        self, folder: TraceFolder, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = three_events(folder)
        for _ in range(2):
            with path.open("ab") as file:
                file.write(b"torn")
            open_stream(folder).close()
        names = sorted(p.name for p in path.parent.iterdir() if p.name != ".gitignore")
        assert names == [path.name, f"{path.name}.quarantine-1", f"{path.name}.quarantine-2"]
        said = (
            f"{AGENT}: 4 bytes that are not a complete line were moved to {path.name}.quarantine-"
        )
        assert caplog.messages == [f"{said}1", f"{said}2"]

    @pytest.mark.parametrize("done", ["in part", "whole", "and cut off"])
    def test_of_a_recovery_that_was_killed_the_next_one_tells(
        self, done: str, folder: TraceFolder
    ) -> None:
        path = three_events(folder)
        beside = path.with_name(f"{path.name}.quarantine-1")
        sound, torn = path.read_bytes(), b'{"v":1,"seq":3'
        beside.write_bytes(torn[:5] if done == "in part" else torn)
        path.write_bytes(sound if done == "and cut off" else sound + torn)
        for _ in range(2):  # and it is told of once
            open_stream(folder).close()
            (note,) = [payload(event) for event in list(read_events(path))[3:]]
            assert isinstance(note, Recovered)
            assert (note.quarantine, note.bytes) == (beside.name, len(torn))
            assert beside.read_bytes() == torn
            assert path.read_bytes().startswith(sound)

    def test_whole_lines_after_a_bad_one_are_no_torn_tail(self, folder: TraceFolder) -> None:
        path = three_events(folder)
        first, second, third = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(content := first + b"\0" * len(second) + b"\n" + third)
        with pytest.raises(StreamDamaged, match="line 2"):
            open_stream(folder)
        assert path.read_bytes() == content

    @pytest.mark.parametrize("place", [5, 300, -100, -40])
    def test_a_changed_byte_is_not_a_torn_tail(self, place: int, folder: TraceFolder) -> None:
        path = three_events(folder)
        content = bytearray(path.read_bytes())
        content[place] ^= 1
        path.write_bytes(content)
        with pytest.raises(StreamDamaged, match=r"line \d"):
            open_stream(folder)
        assert path.read_bytes() == content

    def test_cut_anywhere_it_is_recovered(self, folder: TraceFolder) -> None:
        path = three_events(folder)
        content = path.read_bytes()
        ends = {place for place in range(len(content)) if b"\n" in content[place - 2 : place + 2]}
        for size in sorted({*range(0, len(content), 11), *ends}):
            path.write_bytes(content[:size])
            open_stream(folder, durability="none").close()
            path.with_name(f"{path.name}.quarantine-1").unlink(missing_ok=True)
            events = list(read_events(path))
            whole = content[:size].count(b"\n")
            assert [event.type for event in events[:whole]] == ["context_update"] * whole
            at_a_line_end = size == 0 or content[size - 1 : size] == b"\n"
            assert [event.type for event in events[whole:]] == ["recovered"] * (not at_a_line_end)


HOLDER = """
import sys
from pathlib import Path
from remora.trace.stream.line_builder import Identity
from remora.trace.trace_folder import TraceFolder
from tests.stream_writer import open_emitter
folder = TraceFolder(Path(sys.argv[1]))
writer = open_emitter(folder.agent_stream(sys.argv[2]), Identity(*sys.argv[3:]),
                           blobs=folder.blobs)
print("open", flush=True)
sys.stdin.read()
"""


class TestOneWriter:
    @pytest.mark.needs("/proc")
    def test_a_second_one_is_refused_with_the_owners_process(self, folder: TraceFolder) -> None:
        identity = agent_identity()
        words = [identity.run_id, identity.agent_id, identity.operation, identity.node_id]
        with subprocess.Popen(
            [sys.executable, "-c", HOLDER, folder.root, AGENT, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"open\n"
            with pytest.raises(StreamLocked, match=f"process {child.pid}"):
                open_stream(folder)
            child.kill()
        open_stream(folder).close()

    @pytest.mark.needs("/proc")
    def test_not_even_in_the_same_process(self, folder: TraceFolder) -> None:
        with open_stream(folder), pytest.raises(StreamLocked, match=f"process {os.getpid()}"):
            open_stream(folder)

    def test_different_streams_do_not_meet(self, folder: TraceFolder) -> None:
        with open_stream(folder, "a"), open_stream(folder, "b"):
            pass


class TestThreads:
    @pytest.mark.parametrize("durability", ["event", "turn", "none"])
    def test_several_append_at_once_in_one_order(
        self, durability: Durability, folder: TraceFolder
    ) -> None:
        with open_stream(folder, durability=durability) as writer:

            def work(turn: int) -> list[Event]:
                done = [writer.emit(TurnStart(), turn=turn) for _ in range(20)]
                writer.end_turn()
                return done

            with ThreadPoolExecutor(6) as pool:
                events = [event for done in pool.map(work, range(6)) for event in done]
        assert sorted(events, key=lambda event: event.seq) == list(read_events(writer.path))
        assert len(events) == 120

    def test_a_failed_sync_reaches_all_who_wait_for_it(
        self, folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def failing(_: int) -> None:
            time.sleep(0.01)
            raise OSError(5, "Input/output error")

        writer = open_stream(folder)
        writer.emit(TurnStart(), turn=1)
        monkeypatch.setattr(os, "fdatasync", failing)
        with ThreadPoolExecutor(4) as pool:
            waiting = [pool.submit(writer.end_turn) for _ in range(4)]
            assert {isinstance(done.exception(), StreamError) for done in waiting} == {True}
        writer.close()


class TestForeignHands:
    @pytest.mark.parametrize("how", ["replaced", "removed", "grown", "cut"])
    def test_a_file_that_is_not_what_it_was_is_noticed_before_the_next_write(
        self, how: str, folder: TraceFolder
    ) -> None:
        with open_stream(folder) as writer:
            writer.emit(TurnStart(), turn=1)
            before = writer.path.read_bytes()
            if how in ("replaced", "removed"):
                writer.path.unlink()
            if how in ("replaced", "grown"):
                with writer.path.open("ab") as file:
                    file.write(before)
            if how == "cut":
                writer.path.write_bytes(before[:-1])
            found = writer.path.read_bytes() if how != "removed" else None
            for _ in range(2):
                with pytest.raises(StreamError, match=r"replaced|changed"):
                    writer.emit(TurnStart(), turn=2)
        assert found is None or writer.path.read_bytes() == found


class TestDisk:
    """Disk errors; test_kill.py has those that need a full disk."""

    def test_after_a_failed_sync_nothing_more_is_taken_and_no_sync_is_tried(
        self, folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tries = []

        def failing(file: int) -> None:
            tries.append(file)
            raise OSError(5, "Input/output error")

        writer = open_stream(folder)
        writer.emit(TurnStart(), turn=1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", failing)
            with pytest.raises(StreamWriteFailed, match="sync failed"):
                writer.end_turn()
            for act in (writer.sync, lambda: writer.emit(TurnStart(), turn=2)):
                with pytest.raises(StreamError, match="accepts no more"):
                    act()
            writer.close()
        assert len(tries) == 1
        open_stream(folder).close()

    @pytest.mark.parametrize(("durability", "syncs"), [("event", 3), ("turn", 1), ("none", 0)])
    def test_how_often_a_turn_of_three_events_is_synced(
        self,
        durability: Durability,
        syncs: int,
        folder: TraceFolder,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        done = []
        real = os.fdatasync

        def counting(file: int) -> None:
            done.append(file)
            real(file)

        with open_stream(folder, durability=durability) as writer:
            monkeypatch.setattr(os, "fdatasync", counting)
            for _ in range(3):
                writer.emit(TurnStart(), turn=1)
            writer.end_turn()
        assert len(done) == syncs

    def test_new_names_are_synced_with_the_first_turn_and_not_again(
        self, folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced: list[Path] = []

        def noting(file: int) -> None:
            synced.append(Path(f"/proc/self/fd/{file}").readlink())

        monkeypatch.setattr(os, "fsync", noting)
        writer = open_stream(folder)
        digest = folder.blobs.put(b"content")
        writer.emit(TurnStart(), turn=1)
        writer.end_turn()
        ab = folder.blobs.folder / digest[:2]
        assert sorted(synced) == sorted([ab.parent, ab, folder.traces])
        synced.clear()
        folder.blobs.put(b"content")
        writer.emit(TurnStart(), turn=2)
        writer.close()
        assert synced == []

    def test_what_another_process_put_is_synced_too(
        self, folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The other process may have been killed before its sync."""
        digest = TraceFolder(folder.root).objects.put(b"content")
        synced: list[str] = []

        def noting(file: int) -> None:
            synced.append(Path(f"/proc/self/fd/{file}").readlink().name)

        monkeypatch.setattr(os, "fdatasync", noting)
        folder.objects.put(b"content")
        folder.objects.sync()
        assert synced == [digest]

    def test_contents_are_synced_before_the_lines_that_name_them(
        self, folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced: list[str] = []
        real = os.fdatasync

        def noting(file: int) -> None:
            synced.append(Path(f"/proc/self/fd/{file}").readlink().name)
            real(file)

        monkeypatch.setattr(os, "fdatasync", noting)
        writer = open_emitter(
            folder.agent_stream(AGENT), agent_identity(), blobs=folder.blobs, objects=folder.objects
        )
        content = folder.objects.put(b"content")
        text = "x" * 70_000
        writer.emit(ContextUpdate(source="hub", value=text), turn=1)
        writer.close()
        assert synced == [sha256(text.encode()).hexdigest(), content, f"{AGENT}.jsonl"]


def test_events_are_values(folder: TraceFolder) -> None:
    first, second = (play_agent(TraceFolder(folder.root), name).writer for name in ("a", "a2"))
    first.close()
    second.close()
    kinds: list[type] = [type(event) for event in read_events(first.path)]
    assert set(kinds) == {Event}


PAYLOADS: list[tuple[Payload, PacketDelta | None]] = [
    (TurnStart(), PacketDelta(turn=1)),
    (ContextUpdate(source="hub", value={"n": float("nan"), "long": "x" * 70_000}), None),
    (AgentEnd(status="no_change", stop_reason="no_change"), None),
]


def to_file(folder: TraceFolder) -> JsonlEventEmitter:
    return open_emitter(
        folder.agent_stream(AGENT), agent_identity(), blobs=folder.blobs, clock=ticking()
    )


def emit_all(emitter: EventEmitter) -> list[Event]:
    events = [emitter.emit(payload, turn=1, delta=delta) for payload, delta in PAYLOADS]
    emitter.end_turn()
    assert (emitter.head.count, emitter.head.hash) == (3, events[-1].hash)
    with pytest.raises(StreamError):
        emitter.emit(TurnStart(), turn=2)
    emitter.close()
    emitter.close()
    return events


def test_with_and_without_a_file_events_and_hashes_are_the_same(folder: TraceFolder) -> None:
    written = emit_all(to_file(folder))
    assert list(read_events(folder.agent_stream(AGENT))) == written
    assert emit_all(NullEventEmitter(agent_identity(), ticking())) == written


class TestTranscript:
    def test_it_shows_who_was_asked_what_and_what_came_of_it(self, folder: TraceFolder) -> None:
        play_run(folder)
        text = "\n".join(transcript(read_events(folder.agent_stream(AGENT))))
        for words in [
            "agent start: None: no findings",
            "== turn 1 ==",
            "-> model (lines/2, 0 tokens)",
            "    Goal: no findings",
            '<- model:\n    {"tool":"apply_fix","args":{}}',
            "tool call: apply_fix(line=1) by model",
            "tool result: apply_fix: success, 1 changed\n    after 0 ms: ",
            "    changed src/a.py",
            "agent error: bad_call: no call",
            "agent end: submitted",
        ]:
            assert words in text
        assert text.count("== turn") == 4

    def test_control_sequences_are_escaped(self) -> None:
        emitter = NullEventEmitter(agent_identity())
        event = emitter.emit(
            AgentEnd(status="\x1b[2J", stop_reason="a\nb", error="\x9b31m"), turn=0
        )
        assert list(transcript([event])) == [r"agent end: \x1b[2J, a\x0ab", r"    \x9b31m"]


def test_a_clock_is_read_once_for_each_event() -> None:
    emitter = NullEventEmitter(agent_identity(), ticking())
    stamps = [emitter.emit(TurnStart(), turn=n).timestamp for n in range(3)]
    assert stamps == [f"2026-01-02T03:04:0{second}.000006Z" for second in (6, 7, 8)]


@pytest.mark.slow
def test_appending_keeps_up_with_any_agent(folder: TraceFolder) -> None:
    """The benchmark asks for 20,000 events/s; this floor only catches a slip of kind."""
    writer = open_emitter(
        folder.agent_stream(AGENT), agent_identity(), blobs=folder.blobs, durability="none"
    )
    payload = ContextUpdate(source="hub", value={"found": ["x" * 40] * 4})
    start = time.process_time()  # others may be at work here too
    for _ in range(10_000):
        writer.emit(payload, turn=1)
    assert 10_000 / (time.process_time() - start) > 4_000
    writer.close()
