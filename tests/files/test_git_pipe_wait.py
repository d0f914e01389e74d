"""A repository with pipes or huge files costs about a second, wherever git would read them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from remora.errors import OutsideError
from remora.files import git, git_pipe_wait
from remora.files.git import git_output
from remora.files.git_pipe_wait import StallDetector
from remora.files.project_files import project_files

SECONDS = 8.0
"""Far below 43 s, on a machine that is busy: idle, the slowest takes 1.7 s."""
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the detector ends a git that waits."""
    monkeypatch.setattr(git, "_QUICK_SECONDS", 3600)
    monkeypatch.setattr(git, "_GIT_SECONDS", 3600)


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


@pytest.mark.needs("/proc")
@pytest.mark.parametrize(
    "spoils",
    [
        pytest.param(spoils, id=name, marks=() if name in SOME else pytest.mark.slow)
        for name, spoils in SPOILED.items()
    ],
)
def test_a_pipe_costs_about_a_second(
    root: Path, spoils: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_pipe_wait, "STALL_SECONDS", 0.3)
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


@pytest.mark.needs("/proc")
def test_the_next_call_for_that_folder_fails_at_once(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_pipe_wait, "STALL_SECONDS", 0.3)
    pipe(root / ".git/packed-refs")
    with pytest.raises(OutsideError, match="git rev-parse is blocked by a pipe") as caught:
        git_output(root, "rev-parse", "HEAD~0")
    assert "find . -type p" in caught.value.hint
    (root / ".git/packed-refs").unlink()
    with pytest.raises(OutsideError, match="git is blocked by a pipe"):
        git_output(root, "rev-parse", "HEAD")
    monkeypatch.setattr(git_pipe_wait, "_REMEMBERED_SECONDS", 0.0)
    assert git_output(root, "rev-parse", "HEAD")


def test_a_long_answer_and_a_long_question_pass(root: Path) -> None:
    text = b"x" * (4 << 20)
    name = git_output(root, "hash-object", "-w", "--stdin", stdin=text).decode().strip()
    assert git_output(root, "cat-file", "blob", name) == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "is_stalled"),
    [
        ("import time; time.sleep(60)", True),
        ("while True: pass", False),
        ("import time\nwhile True: time.sleep(0.02)", False),
        ("import threading\nwhile True: threading.Event().wait(0.02)", False),
        (
            "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
            "while True: pass",
            False,
        ),
        ("import subprocess; subprocess.run(['sleep', '2'])", False),
    ],
)
def test_only_who_sleeps_all_the_time_is_stalled(
    code: str, is_stalled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_pipe_wait, "STALL_SECONDS", 0.5)
    with subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE) as process:
        try:
            time.sleep(0.5)
            detector = StallDetector(process.pid)
            found = []
            for _ in range(14):
                found.append(detector.is_stalled())
                time.sleep(0.1)
        finally:
            process.kill()
    assert any(found) is is_stalled
    assert not StallDetector(process.pid).is_stalled()
