"""Branches with commits of Remora that still have to be merged, in real repositories."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from remora.usecases.review.pull_request import waiting_branches
from tests.cli.conftest import git, write

TRAILER = "Remora-Trace: 20260101-000000-abcdef {} {}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository on main, with a branch of Remora that has two commits."""
    root = write(tmp_path / "shop", {"a.py": "a = 1\n", "b.py": "b = 1\n"})
    git(root, "init", "-q")
    commit(root, "start")
    git(root, "switch", "-q", "-c", "remora/lint")
    for number, name in enumerate(("a.py", "b.py")):
        write(root, {name: "x = 2\n"})
        commit(root, f"lint: {name}\n\n{TRAILER.format(number, 'ab' * 32)}")
    git(root, "switch", "-q", "main")
    write(root, {"c.py": "c = 1\n"})
    commit(root, "later")
    return root


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def merge(root: Path) -> None:
    git(root, "merge", "-q", "--no-ff", "-m", "merge", "remora/lint")


def squash(root: Path) -> None:
    git(root, "merge", "-q", "--squash", "remora/lint")
    commit(root, "squashed")


ENDS: dict[str, Callable[[Path], object]] = {
    "merge": merge,
    "squash": squash,
    "rebase": lambda root: git(root, "cherry-pick", "main..remora/lint"),
    "delete": lambda root: git(root, "branch", "-q", "-D", "remora/lint"),
}


def test_a_branch_waits_until_its_changes_are_in_head(root: Path) -> None:
    assert waiting_branches(root) == ["remora/lint"]
    squash(root)
    write(root, {"d.py": "d = 1\n"})
    commit(root, "go on")
    assert waiting_branches(root) == []


@pytest.mark.parametrize("end", ENDS)
def test_a_branch_that_is_merged_or_deleted_does_not_wait(root: Path, end: str) -> None:
    ENDS[end](root)
    assert waiting_branches(root) == []


def test_only_a_part_of_a_branch_in_head_leaves_it_waiting(root: Path) -> None:
    git(root, "cherry-pick", "remora/lint~1")
    assert waiting_branches(root) == ["remora/lint"]


def test_a_branch_that_conflicts_with_head_waits(root: Path) -> None:
    write(root, {"a.py": "a = 3\n"})
    commit(root, "another")
    assert waiting_branches(root) == ["remora/lint"]


def test_branches_of_other_people_do_not_wait(root: Path) -> None:
    git(root, "switch", "-q", "-c", "mine")
    write(root, {"mine.py": "m = 1\n"})
    commit(root, "mine: say Remora-Trace: in the middle\n\nof a text")
    git(root, "switch", "-q", "main")
    assert waiting_branches(root) == ["remora/lint"]


def test_a_renamed_branch_still_waits(root: Path) -> None:
    git(root, "branch", "-m", "remora/lint", "cleanup")
    assert waiting_branches(root) == ["cleanup"]


def test_a_copy_and_a_branch_on_top_are_the_same_branch(root: Path) -> None:
    git(root, "branch", "copy", "remora/lint")
    git(root, "switch", "-q", "-c", "top", "remora/lint")
    write(root, {"mine.py": "m = 1\n"})
    commit(root, "mine")
    git(root, "switch", "-q", "main")
    assert len(waiting_branches(root)) == 1


def test_a_branch_that_merged_one_is_not_another(root: Path) -> None:
    git(root, "switch", "-q", "-c", "mine")
    merge(root)
    git(root, "switch", "-q", "main")
    assert waiting_branches(root) == ["remora/lint"]


def test_a_git_that_cannot_merge_trees_counts_what_is_not_merged(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bin" / "git"
    write(tmp_path, {"bin/git": OLD.format(shutil.which("git"))})
    old.chmod(0o755)
    monkeypatch.setattr("os.defpath", f"{old.parent}:{os.defpath}")
    squash(root)
    assert waiting_branches(root) == ["remora/lint"]
    merge(root)
    assert waiting_branches(root) == []


OLD = """#!/bin/sh
for word in "$@"; do test "$word" != --write-tree || exit 129; done
exec {} "$@"
"""
