"""Slots: private copies that equal the base when opened, whatever was left in them."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from remora.files.project_files import project_files
from remora.workspaces.copy.scan import ScannedFile
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseSnapshot, take_base
from tests.workspaces.conftest import tree


@pytest.fixture
def driver(base: BaseSnapshot, tmp_path: Path) -> SlotDriver:
    return SlotDriver(base, tmp_path / "cache" / "slots")


def test_opening_again_hashes_nothing_and_a_status_from_the_last_tick_proves_nothing(
    tmp_path: Path, driver: SlotDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"a")
    status = (tmp_path / "a").stat()
    fields = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    assert ScannedFile("0", 0o644, 1, *fields, status.st_ctime_ns + 50_000_000).is_unchanged(status)
    assert not ScannedFile("0", 0o644, 1, *fields, status.st_ctime_ns + 5_000_000).is_unchanged(
        status
    )
    with driver.open() as workspace:
        time.sleep(0.05)
        workspace.snapshot()
    monkeypatch.delattr("remora.workspaces.copy.scan._hash")
    with driver.open() as workspace:
        assert workspace.snapshot() == {}


def test_whatever_was_left_is_healed_on_opening(
    driver: SlotDriver, base: BaseSnapshot, tmp_path: Path
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
    driver: SlotDriver, base: BaseSnapshot, tmp_path: Path
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
        (one.tree / "pkg/a.py").write_bytes(b"one")
        assert two.snapshot() == {}
    for _ in range(5):
        with driver.open(), driver.open():
            pass
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == [
        *("slot-0", "slot-1", "slot-2")
    ]


def test_a_slot_of_a_killed_process_is_free_and_healed(
    driver: SlotDriver, base: BaseSnapshot
) -> None:
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


def test_a_slot_serves_another_base(driver: SlotDriver, base: BaseSnapshot, tmp_path: Path) -> None:
    with driver.open() as workspace:
        place = workspace.tree
    other_root = tmp_path / "other"
    other_root.mkdir()
    (other_root / "pkg").write_bytes(b"a file where the first has a folder")
    other = take_base(other_root, project_files(other_root), tmp_path / "base2")
    with SlotDriver(other, place.parent).open() as workspace:
        assert set(tree(workspace.tree)) == {"pkg"}
        assert workspace.snapshot() == {}


def test_only_edited_modules_keep_the_settings_of_the_base(driver: SlotDriver) -> None:
    with driver.open() as workspace:
        (workspace.tree / "pkg/a.py").write_bytes(b"a = 2\n")
        assert workspace.has_settings_of_base()
        for other in ("setup.py", "pkg/ruff.toml", "pkg/ignored.pyc"):
            (workspace.tree / other).write_bytes(b"")
            assert not workspace.has_settings_of_base(), other
            (workspace.tree / other).unlink()
        (workspace.tree / "run.sh").write_bytes(b"")
        assert not workspace.has_settings_of_base()
