"""A repository with pipes or huge files costs no more than the limits, wherever git would read them."""

import os
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from remora.errors import OutsideError
from remora.files import git
from remora.files.git import git_output
from remora.files.project_files import project_files

SECONDS = 20.0
"""Far below the real limits, on a machine that is busy."""
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for words in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*GIT, *words], cwd=tmp_path, check=True)
    (tmp_path / "a.py").write_text("a = 1\n")
    return tmp_path


def pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def spoil(name: str, root: Path) -> None:
    pipe(root / ".git" / name)


def spoil_real(name: str, root: Path) -> None:
    """In a folder to which a file named `.git` leads."""
    (root / ".git").rename(root / ".real")
    (root / ".git").write_text("gitdir: .real\n")
    pipe(root / ".real" / name)


def spoil_commit(root: Path) -> None:
    name = subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=root, capture_output=True, check=True)
    digest = name.stdout.decode().strip()
    pipe(root / ".git/objects" / digest[:2] / digest[2:])


def spoil_include(root: Path) -> None:
    with (root / ".git/config").open("a") as file:
        file.write("[include]\n\tpath = o\\\ndd\n")
    pipe(root / ".git/odd")


def spoil_common(root: Path) -> None:
    (root / ".git/commondir").write_text("../.other\n")
    pipe(root / ".other/config")


def spoil_nested(root: Path) -> None:
    subprocess.run([*GIT, "init", "-q", "nested"], cwd=root, check=True)
    pipe(root / "nested/.git/HEAD")


FILES = (
    "HEAD", "commondir", "config", "config.worktree", "index", "info/exclude", "info/grafts",
    "objects/info/alternates", "packed-refs", "refs/heads/main", "shallow",
)  # fmt: skip
SPOILED: dict[str, Callable[[Path], object]] = {
    **{name: partial(spoil, name) for name in FILES},
    **{f"{name}, behind a file": partial(spoil_real, name) for name in ("HEAD", "config", "index")},
    "a commit": spoil_commit,
    "an included file": spoil_include,
    "a common folder": spoil_common,
    "a repository within": spoil_nested,
    "an ignore file": partial(spoil, "../src/.gitignore"),
}
SOME = {"HEAD", "index, behind a file", "an ignore file"}


@pytest.mark.parametrize(
    "spoils",
    [
        pytest.param(spoils, id=name, marks=() if name in SOME else pytest.mark.slow)
        for name, spoils in SPOILED.items()
    ],
)
def test_a_pipe_costs_no_more_than_the_limits(
    root: Path, spoils: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "_QUICK_SECONDS", 0.5)
    monkeypatch.setattr(git, "_GIT_SECONDS", 0.5)
    spoils(root)
    begun = time.monotonic()
    files = project_files(root)
    again = project_files(root)
    assert time.monotonic() - begun < SECONDS
    assert files.note
    assert again.note
    assert "a.py" in files.paths


@pytest.mark.parametrize("name", [".gitignore", ".git/info/exclude", ".git/config", ".git/HEAD"])
def test_git_does_not_read_a_huge_file(root: Path, name: str) -> None:
    os.truncate(_touched(root / name), 2 << 30)
    files = project_files(root)
    assert f"{name}: 2,048.0 MiB, larger than" in files.note
    assert "a.py" in files.paths


def _touched(path: Path) -> Path:
    path.touch()
    return path


def test_a_git_that_waits_for_a_pipe_is_ended(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_QUICK_SECONDS", 0.3)
    pipe(root / ".git/packed-refs")
    with pytest.raises(OutsideError, match="git rev-parse timed out") as caught:
        git_output(root, "rev-parse", "HEAD~0")
    assert "find . -type p" in caught.value.hint


def test_a_long_answer_and_a_long_question_pass(root: Path) -> None:
    text = b"x" * (4 << 20)
    name = git_output(root, "hash-object", "-w", "--stdin", stdin=text).decode().strip()
    assert git_output(root, "cat-file", "blob", name) == text
