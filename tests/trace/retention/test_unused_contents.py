"""References to contents, and removal of unreferenced ones during concurrent puts."""

import fcntl
import os
import threading
import time
from hashlib import sha256
from pathlib import Path

import pytest

from remora.trace.content import byte_source as module
from remora.trace.retention.unused_contents import (
    referenced_contents,
    remove_contents,
    stored_contents,
)
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.trace.conftest import AGENT, RUN, play_run


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
