"""Stream removal: locked, verified to the last line, with all files."""

import os

import pytest

from remora.errors import DiskError, StreamLocked
from remora.facilities import POSIX_VARIABLE
from remora.trace.retention.stream_removal import (
    compaction_lock,
    locked_stream,
    remove_stream,
    remove_unfinished_files,
)
from remora.trace.stream.compression import compress_stream
from remora.trace.trace_folder import TraceFolder
from tests.trace.conftest import AGENT, Recorder, play_run


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
