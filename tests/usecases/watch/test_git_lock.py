"""A lock of git's index is waited for, and reported if it stays."""

import os
import subprocess
from pathlib import Path
from typing import Any

from remora.usecases.watch.watch_project import _Watch, held_lock


class Told:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def noted(self, text: str) -> None:
        self.notes.append(text)


def test_a_lock_that_stays_is_reported_once_with_its_path(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    nothing: Any = None
    told: Any = Told()
    watch = _Watch(nothing, nothing, told, nothing, tmp_path)
    file = tmp_path / ".git" / "index.lock"
    assert not watch._is_git_busy()
    for reported in (1, 2):
        file.touch()
        assert watch._is_git_busy()
        assert len(told.notes) == reported - 1
        os.utime(file, (1, 1))
        assert watch._is_git_busy()
        assert watch._is_git_busy()
        assert [str(file) in text for text in told.notes] == [True] * reported
        file.unlink()
        assert not watch._is_git_busy()


def test_without_a_repository_there_is_no_lock(tmp_path: Path) -> None:
    assert held_lock(tmp_path) is None
