"""Recordings come from a process that ran project code, and are read in bounded memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from remora.hub.observe.observation_reader import read_records, recorded_paths
from remora.hub.query.snapshots import MemorySnapshot
from tests.memory_limit import memory_limit


def long_line(folder: Path) -> None:
    with (folder / "0.jsonl").open("wb") as file:
        file.write(b'["file",0,"')
        file.truncate(48 << 20)


def long_paths(folder: Path) -> None:
    with (folder / "0.jsonl").open("w") as file:
        file.writelines(f'["file",{n},"{n}{"a" * 100_000}",""]\n' for n in range(500))


def many_paths(folder: Path) -> None:
    with (folder / "0.jsonl").open("w") as file:
        file.writelines(f'["file",{n},"{n}{"a" * 4000}",""]\n' for n in range(12_000))


def many_files(folder: Path) -> None:
    for number in range(9):
        (folder / f"{number}.jsonl").write_text('["file",0,"app.py",""]\n')
        with (folder / f"{number}.jsonl").open("r+b") as file:
            file.truncate(60 << 20)


@pytest.mark.parametrize("record", [long_line, long_paths, many_files])
def test_a_recording_that_is_too_large_is_incomplete(
    tmp_path: Path, record: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.hub.observe.observation_reader._LIMIT", 64 << 20)
    record(tmp_path)
    with memory_limit():
        recorded_paths(tmp_path)
        assert not read_records(tmp_path, MemorySnapshot({})).complete


def test_calls_of_unknown_code_are_not_held(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_text('["call",0,1,9]\n' * 60_000)
    with memory_limit(4 << 20):
        assert read_records(tmp_path, MemorySnapshot({})).complete


def test_paths_are_remembered_up_to_a_limit(tmp_path: Path) -> None:
    many_paths(tmp_path)
    with memory_limit(24 << 20):
        assert len(recorded_paths(tmp_path)) > 4000
