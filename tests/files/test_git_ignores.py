"""What git says of paths that it is asked about one after the other."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.errors import OutsideError
from remora.files.git_ignores import GitIgnores


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", ".")
    return tmp_path


@pytest.fixture
def asked(root: Path) -> Iterator[GitIgnores]:
    questions = GitIgnores(root)
    yield questions
    questions.close()


def test_verdicts_are_about_rules_not_about_what_is_tracked(root: Path, asked: GitIgnores) -> None:
    (root / ".gitignore").write_text("out/\n*_gen.py\n!kept_gen.py\n\\!odd.py\n")
    (root / "out").mkdir()
    odd = os.fsdecode(b":caf\xe9\n_gen.py")
    for name in ("a_gen.py", odd, "a.py"):
        (root / name).write_text("")
    git(root, "add", "-f", "a_gen.py")
    ignored = ["a_gen.py", odd, "out", "out/x.py", "gone_gen.py", "!odd.py"]
    others = ["a.py", ":(top)a.py", "kept_gen.py"]
    assert asked.ignored([*ignored, *others]) == (set(ignored), None)
    assert asked.ignored(["a.py"]) == (set(), None)
    assert asked.ignored([]) == (set(), None)


def test_a_folders_rules_are_read_when_something_in_it_is_asked_about(
    root: Path, asked: GitIgnores
) -> None:
    (root / "sub").mkdir()
    assert asked.ignored(["sub", "x.py"]) == (set(), None)
    (root / "sub/.gitignore").write_text("x.py\n")
    assert asked.ignored(["sub/x.py", "sub/y.py"]) == ({"sub/x.py"}, None)


def test_many_paths_at_once_go_in_while_answers_come_out(root: Path, asked: GitIgnores) -> None:
    (root / ".gitignore").write_text("*7.py\n")
    paths = [f"{number}-{'long' * 40}{number % 10}.py" for number in range(5000)]
    told = asked.ignored(paths)
    assert told.ignored == set(paths[7::10])


def test_a_path_that_is_refused_is_named_and_the_rest_may_be_asked(
    root: Path, asked: GitIgnores
) -> None:
    (root / "real").mkdir()
    (root / "link").symlink_to("real")
    (root / ".gitignore").write_text("a.py\n")
    told = asked.ignored(["a.py", "link/x.py", "b.py"])
    assert told == ({"a.py"}, "link/x.py")
    assert asked.ignored(["b.py", "a.py"]) == ({"a.py"}, None)


def test_without_git_there_is_an_error(
    root: Path, asked: GitIgnores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.files.git.git_environment", lambda: {"PATH": "/nowhere"})
    with pytest.raises(OutsideError, match="could not run"):
        asked.ignored(["a.py"])


def test_a_silent_git_is_not_waited_for(
    root: Path, asked: GitIgnores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.files.git_ignores._SILENT_SECONDS", 0.2)
    busy = ["sh", "-c", "while :; do :; done"]
    with monkeypatch.context() as patched:
        patched.setattr("remora.files.git.git_command", lambda *_: busy)
        with pytest.raises(OutsideError, match="timed out"):
            asked.ignored(["a.py"])


def test_a_pipe_is_not_waited_for(
    root: Path, asked: GitIgnores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.files.git_ignores._SILENT_SECONDS", 0.5)
    os.mkfifo(root / ".gitignore")
    with pytest.raises(OutsideError, match="timed out"):
        asked.ignored(["a.py"])
    (root / ".gitignore").unlink()
    monkeypatch.undo()
    assert asked.ignored(["a.py"]) == (set(), None)
