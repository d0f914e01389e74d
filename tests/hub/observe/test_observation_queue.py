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


def test_everything_is_collected_once_in_order(tmp_path: Path) -> None:
    folder = spool_folder(tmp_path / "cache" / "hub.db")
    for number in range(3):
        enqueue(folder, seen(number))
    got: list[Observation] = []
    assert drain(folder, got.append) == 3
    assert got == [seen(0), seen(1), seen(2)]
    assert drain(folder, got.append) == 0
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
    assert drain(tmp_path, lambda _: None) == 1


def test_unreadable_observations_are_removed(tmp_path: Path) -> None:
    (tmp_path / "0.msgpack").write_bytes(b"\xff\xff")
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "1.msgpack").symlink_to(tmp_path / "target")
    assert drain(tmp_path, lambda _: None) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


def test_nothing_waits_where_there_is_no_folder(tmp_path: Path) -> None:
    assert drain(tmp_path / "none", lambda _: None) == 0
