"""What expires: its log, removal of streams and of unreferenced contents."""

import fcntl
import os
import threading
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from remora.errors import DiskError, StreamDamaged
from remora.memory.events import Head
from remora.trace.content import byte_source as module
from remora.trace.content.line_format import valid_hash
from remora.trace.removal import (
    ExpiredStream,
    log_expired,
    read_expired,
    referenced_contents,
    remove_contents,
    remove_stream,
    stored_contents,
)
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.trace.conftest import AGENT, RUN, play_run

NOW = datetime(2026, 6, 1, 12, 30, tzinfo=UTC)


def entry(name: str, count: int = 3) -> ExpiredStream:
    return ExpiredStream(
        kind="agent", id=name, run_id="r", head=Head(count=count, hash="a" * 64), bytes=9,
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


def test_old_temporary_files_of_killed_processes_are_removed(folder: TraceFolder) -> None:
    play_run(folder)
    before = sorted(folder.path.rglob("*"))
    digest = folder.objects.put(b"x")
    prefix = folder.objects.folder / digest[:2]
    half = [folder.traces / f".{AGENT}.jsonl.zst-0badcafe~", prefix / f".{digest[:16]}-0badcafe"]
    for path in half:
        path.write_bytes(b"half")
        os.utime(path, (1_000, 1_000))
    old = [content for content in stored_contents(folder) if content.put == 1_000]
    assert {content.path for content in old} == set(half)
    assert remove_contents(old) == 8
    assert set(folder.path.rglob("*")) == {*before, prefix, prefix / digest}


def all_contents(folder: TraceFolder) -> dict[str, str]:
    found = [content.path for content in stored_contents(folder)]
    return {path.name: path.parent.parent.name for path in found}


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


def test_what_was_stored_again_since_it_was_listed_is_kept(folder: TraceFolder) -> None:
    old, again = folder.objects.put(b"old"), folder.objects.put(b"again")
    for digest in (old, again):
        os.utime(folder.objects.folder / digest[:2] / digest, (1_000, 1_000))
    found = list(stored_contents(folder))
    folder.objects.put(b"again")
    assert remove_contents(found) == 3
    assert remove_contents(found) == 0
    assert all_contents(folder) == {again: "objects"}


def test_a_content_written_during_collection_is_kept(folder: TraceFolder) -> None:
    data = [f"content {n}".encode() for n in range(40)]
    lost: list[str] = []
    over = threading.Event()

    def collect() -> None:
        while not over.is_set():
            old = [one for one in stored_contents(folder) if one.put < 5]
            remove_contents(old)

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
        "remove": lambda: remove_contents(list(stored_contents(folder))),
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
