"""Clones that follow a remote repository."""

import os
from pathlib import Path

import pytest

from remora.errors import OutsideError
from remora.files.git_clone import is_bare, update_clone
from tests.cli.conftest import git, write


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with one commit, tagged `stable`."""
    folder = write(tmp_path / "origin", {"a.py": "x = 1\n"})
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    git(folder, "tag", "stable")
    return folder


def updated(origin: Path, ref: str) -> str:
    clone = origin.parent / "clone"
    update_clone(f"file://{origin}", ref, clone, os.environ)
    return git(clone, "rev-parse", "HEAD").strip()


def test_a_tag_that_was_moved_is_followed(origin: Path) -> None:
    first = updated(origin, "stable")
    git(origin, "commit", "-q", "--allow-empty", "-m", "more")
    assert updated(origin, "stable") == first
    git(origin, "tag", "-f", "stable")
    assert updated(origin, "stable") == git(origin, "rev-parse", "HEAD").strip() != first


def test_the_default_branch_is_not_needed_for_a_tag(origin: Path) -> None:
    first = updated(origin, "stable")
    git(origin, "symbolic-ref", "HEAD", "refs/heads/none")
    assert updated(origin, "stable") == first


def test_a_repository_without_commits_is_named_each_time(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q")
    for _ in range(2):
        with pytest.raises(OutsideError, match="has no commits"):
            updated(origin, "")


def test_a_bare_repository_is_told_from_a_work_tree(origin: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(origin), "bare.git")
    assert [is_bare(each) for each in (tmp_path / "bare.git", origin, tmp_path)] == [
        True,
        False,
        False,
    ]
