"""One daemon for each database, whatever was left behind."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from remora.errors import DiskError, HubLocked, OutsideError
from remora.hub.store.owner_lock import OwnerLock, is_lock, owner

HOLD = """
import sys
from pathlib import Path
from remora.hub.store.owner_lock import OwnerLock
mine = OwnerLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""
ASK = """
import os, sys
from pathlib import Path
from remora.hub.store.owner_lock import owner
print(os.getpid(), owner(Path(sys.argv[1])))
"""


def test_only_one_process_owns_the_lock_and_it_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "made" / "hub.db.daemon"
    assert owner(lock) is None
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(HubLocked) as told:
            OwnerLock(lock)
        assert str(process.pid) in told.value.message
        assert owner(lock) == process.pid
    finally:
        process.kill()
        process.communicate()
    assert owner(lock) is None
    mine = OwnerLock(lock)
    assert not mine.is_lost()
    assert owner(lock) == os.getpid()
    mine.close()
    assert owner(lock) is None


def test_the_lock_is_for_one_user_and_known_by_its_words(tmp_path: Path) -> None:
    lock = tmp_path / "made" / "lock"
    mine = OwnerLock(lock)
    assert lock.stat().st_mode & 0o777 == 0o600
    assert lock.parent.stat().st_mode & 0o777 == 0o700
    mine.close()
    lock = tmp_path / "lock"
    assert not is_lock(lock)
    OwnerLock(lock).close()
    assert is_lock(lock)
    for other in ("", "4711", "remora hub"):
        lock.write_text(other)
        assert not is_lock(lock)
    assert not is_lock(tmp_path)


@pytest.mark.parametrize("again", [True, False])
def test_the_owner_of_a_deleted_lock_file_notices(tmp_path: Path, again: bool) -> None:
    lock = tmp_path / "lock"
    mine = OwnerLock(lock)
    lock.unlink()
    if again:
        lock.touch()
    assert mine.is_lost()
    mine.close()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError):
        OwnerLock(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("written", ["x", "4194305"])
def test_what_names_no_process_of_this_container_is_held_by_an_unknown_one(
    tmp_path: Path, written: str
) -> None:
    lock = tmp_path / "lock"
    mine = OwnerLock(lock)
    lock.write_text(lock.read_text().replace(str(os.getpid()), written, 1))
    assert owner(lock) == 0
    mine.close()
    assert owner(lock) is None


@pytest.mark.needs("/proc", "namespaces")
def test_a_process_of_another_container_is_not_taken_for_the_owner_that_has_its_id(
    tmp_path: Path,
) -> None:
    container = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--kill-child"]
    if not shutil.which("unshare") or subprocess.run([*container, "true"], check=False).returncode:
        pytest.skip("no namespaces")
    lock = tmp_path / "lock"
    mine = OwnerLock(lock)
    assert owner(lock) == os.getpid()
    of_first = lock.read_text().replace(str(os.getpid()), "1", 1)
    lock.write_text(of_first)
    asked = [sys.executable, "-c", ASK, str(lock)]
    assert owner(lock) == 1
    assert subprocess.check_output([*container, *asked], text=True) == "1 0\n"
    mine.close()


def test_a_file_of_another_user_is_not_mistaken_for_a_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("mine since 1999\n")
    lock.chmod(0o644)
    with pytest.raises(OutsideError, match="is not a Hub lock file"):
        OwnerLock(lock)
    assert (lock.read_text(), lock.stat().st_mode & 0o777) == ("mine since 1999\n", 0o644)
    assert owner(lock) is None


@pytest.mark.slow
def test_reading_the_owner_does_not_block_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "hub.db.lock"
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            owner(path)

    def held() -> bool:
        """By a process that is gone again."""
        take = "import sys, pathlib, remora.hub.store.owner_lock as o; o.OwnerLock(pathlib.Path(sys.argv[1]))"
        return subprocess.run([sys.executable, "-c", take, path], check=False).returncode == 0

    assert held()
    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    try:
        assert all(held() for _ in range(5))
    finally:
        over.set()
        for thread in asking:
            thread.join()
