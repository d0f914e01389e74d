"""What waits for the database's writer: whole, private, once."""

import os
from pathlib import Path

import pytest

from remora.hub.observe.observation_queue import drain, enqueue, spool_folder
from remora.hub.observed_links import Observation, ObservedCall


def seen(number: int) -> Observation:
    call = ObservedCall(
        caller=f"node:a.py:f{number}", callee="node:a.py:g", anchor="", above_end=()
    )
    return Observation(calls=(call,), tests=(), ran=())


def drained(folder: Path) -> list[Observation]:
    found: list[Observation] = []
    drain(folder, found.append)
    return found


def test_everything_is_collected_once_in_order(tmp_path: Path) -> None:
    folder = spool_folder(tmp_path / "cache" / "hub.db")
    for number in range(3):
        enqueue(folder, seen(number))
    assert drained(folder) == [seen(0), seen(1), seen(2)]
    assert drained(folder) == []
    assert list(folder.iterdir()) == []


def test_spool_is_for_its_user_alone(tmp_path: Path) -> None:
    folder = spool_folder(tmp_path / "cache" / "hub.db")
    umask = os.umask(0)
    try:
        enqueue(folder, seen(1))
    finally:
        os.umask(umask)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600]


def test_spool_stays_where_it_cannot_be_recorded(tmp_path: Path) -> None:
    enqueue(tmp_path, seen(1))

    def refuse(_: Observation) -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        drain(tmp_path, refuse)
    assert drained(tmp_path) == [seen(1)]


def test_unreadable_observations_are_removed(tmp_path: Path) -> None:
    (tmp_path / "0.msgpack").write_bytes(b"\xff\xff")
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "1.msgpack").symlink_to(tmp_path / "target")
    assert drained(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_nothing_waits_where_there_is_no_folder(tmp_path: Path) -> None:
    assert drained(tmp_path / "none") == []
