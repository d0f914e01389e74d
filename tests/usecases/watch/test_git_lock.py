"""A lock of git's index is waited for, and reported if it stays."""

import subprocess
from pathlib import Path

from remora.usecases.watch.watch_project import GitLock


def test_a_lock_that_stays_is_reported_once_with_its_path(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    told: list[str] = []
    now = 0.0
    lock = GitLock(tmp_path, told.append, clock=lambda: now)
    file = tmp_path / ".git" / "index.lock"
    assert not lock.is_held()
    for _ in range(2):
        file.touch()
        assert lock.is_held()
        now += 29
        assert lock.is_held()
        assert told == []
        for _ in range(2):
            now += 1
            assert lock.is_held()
            assert [str(file) in text for text in told] == [True]
        told.clear()
        file.unlink()
        assert not lock.is_held()


def test_without_a_repository_there_is_no_lock(tmp_path: Path) -> None:
    assert not GitLock(tmp_path, print).is_held()
