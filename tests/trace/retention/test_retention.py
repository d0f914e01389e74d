"""What expires: its log, removal of streams and of unreferenced contents."""

import fcntl
import os
import threading
import time
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from remora.errors import DiskError, StreamDamaged, StreamLocked
from remora.facilities import POSIX_VARIABLE
from remora.memory.events import Head
from remora.trace.content import byte_source as module
from remora.trace.content.line_format import valid_hash
from remora.trace.retention.expired_log import ExpiredStream, log_expired, read_expired
from remora.trace.retention.removal import (
    compaction_lock,
    locked_stream,
    referenced_contents,
    remove_contents,
    remove_stream,
    remove_unfinished_files,
    stored_contents,
)
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.trace.conftest import AGENT, RUN, Recorder, play_run

NOW = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)


def entry(name: str, count: int = 3) -> ExpiredStream:
    return ExpiredStream(
        kind="agent", id=name, run_id="r", head=Head(count=count, hash="a" * 64), bytes=9,
        reason="age",
    )  # fmt: skip


def place(folder: TraceFolder) -> Path:
    return folder.path / "expired.jsonl"


def test_nothing_went(folder: TraceFolder) -> None:
    assert list(read_expired(folder)) == []


def test_entries_are_kept_in_order_with_their_time_and_a_hash_each(folder: TraceFolder) -> None:
    log_expired(folder, [entry("a"), entry("b")], NOW)
    log_expired(folder, [entry("c")], NOW)
    found = list(read_expired(folder))
    assert [one.id for one in found] == ["a", "b", "c"]
    assert {one.timestamp for one in found} == {"2026-06-01T12:30:00.000000Z"}
    previous = "0" * 64
    for line in place(folder).read_bytes().splitlines():
        digest = valid_hash(line, previous)
        assert digest is not None
        previous = digest


def test_recorded_heads_are_not_repeated(folder: TraceFolder) -> None:
    log_expired(folder, [entry("a")], NOW)
    log_expired(folder, [entry("a"), entry("a", 4)], NOW)
    assert [(one.id, one.head.count) for one in read_expired(folder)] == [("a", 3), ("a", 4)]


@pytest.mark.parametrize("length", [1, 50, 200])
def test_what_a_killed_process_began_is_cut_off(length: int, folder: TraceFolder) -> None:
    log_expired(folder, [entry("a")], NOW)
    whole = place(folder).read_bytes()
    place(folder).write_bytes(whole + whole[:length])
    assert [one.id for one in read_expired(folder)] == ["a"]
    log_expired(folder, [entry("b")], NOW)
    assert [one.id for one in read_expired(folder)] == ["a", "b"]


def test_a_changed_record_is_reported_and_not_added_to(folder: TraceFolder) -> None:
    log_expired(folder, [entry("a"), entry("b")], NOW)
    changed = place(folder).read_bytes().replace(b'"id":"a"', b'"id":"x"')
    place(folder).write_bytes(changed)
    with pytest.raises(StreamDamaged, match="line 1"):
        list(read_expired(folder))
    with pytest.raises(StreamDamaged, match="line 1"):
        log_expired(folder, [entry("c")], NOW)
    assert place(folder).read_bytes() == changed


def test_a_link_in_its_place_is_refused(folder: TraceFolder, tmp_path: Path) -> None:
    place(folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError):
        log_expired(folder, [entry("a")], NOW)
    with pytest.raises(DiskError):
        list(read_expired(folder))
    assert not (tmp_path / "elsewhere").exists()


def test_all_its_files_go_and_no_others(folder: TraceFolder) -> None:
    _, agent = play_run(folder)
    path = agent.writer.path
    plain = path.read_bytes()
    compress_stream(path)
    path.write_bytes(plain)
    torn = [path.with_name(f"{path.name}.quarantine-{n}") for n in (1, 2)]
    for place in torn:
        place.touch()
    other = folder.agent_stream(f"{AGENT}-2")
    other.touch()
    remove_stream(path)
    assert set(folder.traces.iterdir()) == {other, folder.traces / ".gitignore"}
    remove_stream(path)


def test_removal_locks_out_writers(folder: TraceFolder) -> None:
    agent = Recorder(folder)
    path = agent.writer.path
    with pytest.raises(StreamLocked), locked_stream(path):
        pass
    agent.writer.close()
    with locked_stream(path) as size:
        assert size == path.stat().st_size
        with pytest.raises(StreamLocked):
            agent.reopen()
    with pytest.raises(DiskError), locked_stream(folder.agent_stream("nobody")):
        pass


@pytest.mark.parametrize(
    "other_system", [pytest.param("", marks=pytest.mark.needs("/proc"), id="/proc"), "1"]
)
def test_only_one_compacts_at_a_time(
    folder: TraceFolder, other_system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POSIX_VARIABLE, other_system)
    me = r"\(another process\)" if other_system else f"process {os.getpid()}"
    with compaction_lock(folder), pytest.raises(StreamLocked, match=me), compaction_lock(folder):
        pass
    with compaction_lock(folder):
        pass


def test_old_temporary_files_of_killed_processes_are_removed(folder: TraceFolder) -> None:
    play_run(folder)
    before = sorted(folder.path.rglob("*"))
    digest = folder.objects.put(b"x")
    prefix = folder.objects.folder / digest[:2]
    half = [folder.traces / f".{AGENT}.jsonl.zst-0badcafe~", prefix / f".{digest[:16]}-0badcafe"]
    for path in half:
        path.write_bytes(b"half")
        os.utime(path, (1_000, 1_000))
    remove_unfinished_files(folder, 500)
    assert all(path.exists() for path in half)
    remove_unfinished_files(folder, 2_000)
    assert not any(path.exists() for path in half)
    assert set(folder.path.rglob("*")) >= set(before)


def all_contents(folder: TraceFolder) -> dict[str, str]:
    return {content.digest: content.store for content in stored_contents(folder)}


def test_a_runs_streams_name_all_that_it_stored(folder: TraceFolder) -> None:
    play_run(folder)
    stored = all_contents(folder)
    assert set(stored.values()) == {"blobs", "objects"}
    agent, run = folder.agent_stream(AGENT), folder.run_stream(RUN)
    named = referenced_contents(agent, stored) | referenced_contents(run, stored)
    assert named == set(stored)
    compress_stream(agent)
    assert referenced_contents(agent, stored) | referenced_contents(run, stored) == named


@pytest.mark.parametrize("chunk", [1, 7, 65, 66, 67, 1000])
def test_a_name_is_found_wherever_it_is_cut(
    chunk: int, folder: TraceFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PIECE", chunk)
    digests = [sha256(bytes([n])).hexdigest() for n in range(9)]
    path = folder.agent_stream("a")
    path.write_text(
        "".join(f'{{"x":{n * "1"}0,"$blob":{{"sha256":"{d}"}}}}\n' for n, d in enumerate(digests))
        + f'"{"0" * 65}" "{digests[0].upper()}" {digests[1]}x'
    )
    other = sha256(b"other").hexdigest()
    assert referenced_contents(path, [*digests, other, "0" * 64]) == set(digests)


def test_strangers_in_a_store_are_no_contents(folder: TraceFolder, tmp_path: Path) -> None:
    digest = folder.blobs.put(b"x")
    (folder.blobs.folder / digest[:2] / "note.txt").write_text("mine")
    (folder.blobs.folder / "zz").symlink_to(tmp_path)
    (folder.objects.folder / "loose").write_text("mine")
    assert all_contents(folder) == {digest: "blobs"}
    assert list(stored_contents(TraceFolder(tmp_path / "nowhere"))) == []


def test_only_what_is_older_is_removed(folder: TraceFolder) -> None:
    old, young = folder.objects.put(b"old"), folder.objects.put(b"young")
    os.utime(folder.objects.folder / old[:2] / old, (1_000, 1_000))
    removed = remove_contents(folder.objects, [old, young, "0" * 64], 2_000)
    assert removed == {old}
    assert all_contents(folder) == {young: "objects"}


def test_a_content_written_during_collection_is_kept(folder: TraceFolder) -> None:
    data = [f"content {n}".encode() for n in range(40)]
    digests = [sha256(content).hexdigest() for content in data]
    lost: list[str] = []
    over = threading.Event()

    def collect() -> None:
        while not over.is_set():
            remove_contents(folder.objects, digests, time.time() - 5)

    collecting = threading.Thread(target=collect)
    collecting.start()
    try:
        for number in range(30 * len(data)):
            digest = folder.objects.put(data[number % len(data)])
            path = folder.objects.folder / digest[:2] / digest
            if path.exists():
                os.utime(path, (1, 1))  # old again: it may go from now on
            else:
                lost.append(digest)
    finally:
        over.set()
        collecting.join()
    assert lost == []


@pytest.mark.parametrize(("held", "act"), [("LOCK_EX", "put"), ("LOCK_SH", "remove")])
def test_putting_and_collecting_wait_for_each_other(
    held: str, act: str, folder: TraceFolder
) -> None:
    digest = folder.objects.put(b"x")
    acts = {
        "put": lambda: folder.objects.put(b"x"),
        "remove": lambda: remove_contents(folder.objects, [digest], time.time() + 60),
    }
    store = os.open(folder.objects.folder, os.O_RDONLY)
    fcntl.flock(store, getattr(fcntl, held))
    acting = threading.Thread(target=acts[act])
    acting.start()
    acting.join(0.1)
    waited = acting.is_alive()
    os.close(store)
    acting.join()
    assert waited
    assert (set(all_contents(folder)) == {digest}) == (act == "put")
