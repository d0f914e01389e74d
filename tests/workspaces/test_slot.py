"""Slots: private copies that equal the base when opened, whatever was left in them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remora.errors import HostError
from remora.files import project_files
from remora.workspaces.base import Base, take_base
from remora.workspaces.changes import FileState, changes_between
from remora.workspaces.scan import Seen
from remora.workspaces.slot import SlotDriver


@pytest.fixture
def base(tmp_path: Path) -> Base:
    root = tmp_path / "root"
    (root / "pkg/deep").mkdir(parents=True)
    (root / "pkg/a.py").write_bytes(b"a = 1\n")
    (root / "pkg/deep/b.py").write_bytes(b"b = 1\n")
    (root / "run.sh").write_bytes(b"#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / ".gitignore").write_bytes(b"*.tmp\n/out/\n")
    return take_base(root, project_files(root), tmp_path / "base")


@pytest.fixture
def driver(base: Base, tmp_path: Path) -> SlotDriver:
    return SlotDriver(base, tmp_path / "cache" / "slots")


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in files
    }


def test_a_workspace_is_a_private_copy(driver: SlotDriver, base: Base) -> None:
    with driver.open() as workspace:
        assert tree(workspace.tree) == {
            path: (base.read(path), file.mode) for path, file in base.files.items()
        }
        assert workspace.snapshot() == {}
        assert all(p.stat().st_nlink == 1 for p in workspace.tree.rglob("*") if p.is_file())
        assert workspace.tree.stat().st_mode & 0o777 == 0o700


def test_a_snapshot_names_what_differs_and_no_junk(driver: SlotDriver, base: Base) -> None:
    with driver.open() as workspace:
        (workspace.tree / "pkg/a.py").write_bytes(b"a = 2\n")
        (workspace.tree / "run.sh").unlink()
        (workspace.tree / "pkg/new.py").write_bytes(b"new\n")
        (workspace.tree / "pkg/new.py").chmod(0o600)
        (workspace.tree / "pkg/deep/b.py").chmod(0o755)
        for junk in ["pkg/__pycache__/a.pyc", ".ruff_cache/x", "x.tmp", "out/x", "a.pyc"]:
            (workspace.tree / junk).parent.mkdir(exist_ok=True)
            (workspace.tree / junk).write_bytes(b"junk")
        snapshot = workspace.snapshot()
        assert list(snapshot) == ["pkg/a.py", "pkg/deep/b.py", "pkg/new.py", "run.sh"]
        assert snapshot["run.sh"] == FileState(None, 0o755)
        assert snapshot["pkg/new.py"].mode == 0o600
        assert snapshot["pkg/deep/b.py"] == FileState(base.files["pkg/deep/b.py"].sha256, 0o755)
        assert len(changes_between({}, snapshot, base)) == 4
        assert workspace.read("pkg/a.py") == b"a = 2\n"
        assert workspace.base_bytes("pkg/a.py") == b"a = 1\n"
        assert workspace.read("run.sh") is None
        assert workspace.base_bytes("pkg/new.py") is None
        workspace.reset()
        assert workspace.snapshot() == {}
        assert set(tree(workspace.tree)) == set(base.files)


def test_a_change_of_the_same_size_at_the_same_time_is_seen(driver: SlotDriver) -> None:
    """The file system's clock ticks in milliseconds: status alone would hide such a change."""
    with driver.open() as workspace:
        for count in range(50):
            (workspace.tree / "pkg/a.py").write_bytes(b"a = 3\n" if count % 2 else b"a = 2\n")
            before = workspace.snapshot()["pkg/a.py"]
            (workspace.tree / "pkg/a.py").write_bytes(b"a = 4\n")
            assert workspace.snapshot()["pkg/a.py"] != before


def test_a_status_from_the_last_tick_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    status = (tmp_path / "a").stat()
    fields = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    assert Seen("0", 0o644, 1, *fields, status.st_ctime_ns + 50_000_000).still(status)
    assert not Seen("0", 0o644, 1, *fields, status.st_ctime_ns + 5_000_000).still(status)


def test_a_change_with_a_forged_time_is_seen(driver: SlotDriver) -> None:
    with driver.open() as workspace:
        file = workspace.tree / "pkg/a.py"
        time.sleep(0.05)
        workspace.snapshot()
        status = file.stat()
        with file.open("r+b") as handle:
            handle.write(b"a = 9\n")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert list(workspace.snapshot()) == ["pkg/a.py"]


@pytest.mark.parametrize("kind", ["link", "folder link", "second name", "pipe"])
def test_links_and_special_files_are_refused_and_healed(
    driver: SlotDriver, base: Base, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/kept").write_bytes(b"kept")
    with driver.open() as workspace:
        odd = workspace.tree / "odd"
        if kind == "pipe":
            os.mkfifo(odd)
        elif kind == "second name":
            odd.hardlink_to(tmp_path / "outside/kept")
        else:
            odd.symlink_to(tmp_path / ("outside" if kind == "folder link" else "outside/kept"))
        with pytest.raises(HostError, match="odd"):
            workspace.snapshot()
        workspace.reset()
        assert workspace.snapshot() == {}
    assert (tmp_path / "outside/kept").read_bytes() == b"kept"


def test_whatever_was_left_is_healed_on_opening(
    driver: SlotDriver, base: Base, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/kept").write_bytes(b"kept")
    with driver.open() as workspace:
        place = workspace.tree
    clean = tree(place)
    (place / "pkg/a.py").unlink()
    (place / "pkg/a.py").mkdir()  # a folder in place of a file
    (place / "pkg/a.py/x").write_bytes(b"x")
    (place / "pkg/deep/b.py").unlink()
    (place / "pkg/deep").rmdir()
    (place / "pkg/deep").symlink_to(tmp_path / "outside")  # a link in place of a folder
    (place / "run.sh").chmod(0)
    (place / "empty/folder").mkdir(parents=True)
    (place / ".remora-0123").write_bytes(b"half")
    place.with_suffix(".index").write_bytes(b"torn")
    with driver.open() as workspace:
        assert workspace.tree == place, "the slot is used again"
        assert tree(place) == clean
        assert not (place / "empty").exists()
    assert (tmp_path / "outside/kept").read_bytes() == b"kept"
    place.rename(place.with_name("gone"))
    place.symlink_to(tmp_path / "outside")
    with driver.open() as workspace:
        assert tree(place) == clean
        assert not place.is_symlink()
    assert (tmp_path / "outside/kept").read_bytes() == b"kept"


def test_a_name_outside_is_none_of_the_copys(
    driver: SlotDriver, base: Base, tmp_path: Path
) -> None:
    """Below isolation a job could put the user's own file in place of an equal one."""
    with driver.open() as workspace:
        (workspace.tree / "pkg/a.py").unlink()
        (workspace.tree / "pkg/a.py").hardlink_to(base.root / "pkg/a.py")
    with driver.open() as workspace:
        with (workspace.tree / "pkg/a.py").open("ab") as file:
            file.write(b"more\n")
        assert list(workspace.snapshot()) == ["pkg/a.py"]
    assert (base.root / "pkg/a.py").read_bytes() == b"a = 1\n"


def test_rights_that_a_job_took_away_are_given_back(driver: SlotDriver) -> None:
    with driver.open() as workspace:
        for folder, mode in (("pkg/deep", 0o500), ("pkg", 0o555), (".", 0o500)):
            (workspace.tree / folder).chmod(mode)
        kept = (workspace.tree / "pkg/deep/b.py").stat().st_ino
    with driver.open() as workspace:
        assert workspace.tree.stat().st_mode & 0o777 == 0o700
        for folder in ("pkg", "pkg/deep"):
            assert (workspace.tree / folder).stat().st_mode & 0o700 == 0o700
        assert (workspace.tree / "pkg/deep/b.py").stat().st_ino == kept, "and nothing was copied"


def test_there_are_as_many_copies_as_workers_at_one_time(driver: SlotDriver) -> None:
    """However many jobs there were: what all of them take on the disk is bounded by that."""
    with driver.open() as one, driver.open() as two, driver.open():
        folder = one.tree.parent
        assert two.tree.parent == folder
    for _ in range(5):
        with driver.open(), driver.open():
            pass
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == [
        *("slot-0", "slot-1", "slot-2")
    ]


def test_two_workers_never_share_a_slot(driver: SlotDriver) -> None:
    with driver.open() as one, driver.open() as two:
        assert one.tree != two.tree
        (one.tree / "pkg/a.py").write_bytes(b"one")
        assert two.snapshot() == {}
        first = one.tree
    with driver.open() as again:
        assert again.tree == first
        assert again.snapshot() == {}


def test_a_slot_of_a_killed_process_is_free_and_healed(driver: SlotDriver, base: Base) -> None:
    with driver.open() as workspace:
        folder = workspace.tree.parent
    code = """
import fcntl, os, sys, time
lock = os.open(sys.argv[1] + "/slot-0.lock", os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
open(sys.argv[1] + "/slot-0/pkg/a.py", "wb").write(b"half")
print("held", flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == b"held\n"
        with driver.open() as workspace:
            assert workspace.tree.name == "slot-1", "another process holds slot 0"
        other.kill()
    with driver.open() as workspace:
        assert workspace.tree.name == "slot-0"
        assert workspace.snapshot() == {}


def test_a_slot_serves_another_base(driver: SlotDriver, base: Base, tmp_path: Path) -> None:
    with driver.open() as workspace:
        place = workspace.tree
    other_root = tmp_path / "other"
    other_root.mkdir()
    (other_root / "pkg").write_bytes(b"a file where the first has a folder")
    other = take_base(other_root, project_files(other_root), tmp_path / "base2")
    with SlotDriver(other, place.parent).open() as workspace:
        assert set(tree(workspace.tree)) == {"pkg"}
        assert workspace.snapshot() == {}


def test_set_files_restores_a_turn(driver: SlotDriver) -> None:
    with driver.open() as workspace:
        workspace.set_files(
            {"pkg/deep/b.py": (None, 0), "pkg/deep": (b"now a file", 0o600), "n/x": (b"x", 0o755)}
        )
        snapshot = workspace.snapshot()
        assert list(snapshot) == ["n/x", "pkg/deep", "pkg/deep/b.py"]
        assert [state.mode for state in snapshot.values()] == [0o755, 0o600, 0o644]
        with pytest.raises(HostError):
            workspace.set_files({"../out": (b"x", 0o644)})


def test_opening_again_hashes_nothing(driver: SlotDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    with driver.open() as workspace:
        time.sleep(0.05)
        workspace.snapshot()
    with driver.open() as workspace:
        before = dict(workspace.index)
        workspace.snapshot()
        assert all(workspace.index[path] is seen for path, seen in before.items())
