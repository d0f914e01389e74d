"""Members: the same Python files as `project_files`, asked of git only where something is new."""

import os
import subprocess
from pathlib import Path

import pytest

from remora.files import project_files
from remora.hub.members import Members


def git(root: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


def put(root: Path, *paths: str, text: str = "x = 1\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def truth(root: Path, exclude: tuple[str, ...] = ()) -> set[str]:
    paths = project_files(root, exclude=exclude).paths
    return {path for path in paths if path.endswith(".py")}


def agrees(members: Members, root: Path, exclude: tuple[str, ...] = ()) -> set[str]:
    """What belongs now, by every way to ask."""
    found = set(members.sweep())
    assert found == truth(root, exclude)
    assert members.belonging([*found, "absent.py", "a.txt"]) == found
    everything = [
        os.fsdecode(Path(place, name).relative_to(root))
        for place, _, names in os.walk(root)
        for name in names
    ]
    assert members.belonging(everything) == found
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    put(folder, "a.py", "src/b.py", "src/deep/er/c.py", "docs/index.md")
    return folder


@pytest.fixture
def repository(root: Path) -> Path:
    git(root, "init", "-q", ".")
    (root / ".gitignore").write_text("out/\n*_gen.py\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    return root


def test_with_git(repository: Path) -> None:
    members = Members(repository)
    put(repository, "new.py", "out/x.py", "src/a_gen.py", ".env.py", ".agentfs/x.py", ".hid/y.py")
    assert agrees(members, repository) == {
        *("a.py", "src/b.py", "src/deep/er/c.py", "new.py", ".hid/y.py")
    }
    assert members.folders() == {"", "src", "src/deep", "src/deep/er", "docs", ".hid"}


def test_without_git(root: Path) -> None:
    put(
        root,
        "venv/x.py",
        "build/x.py",
        "src/build/__init__.py",
        "e/pyvenv.cfg",
        "e/x.py",
        ".t/x.py",
    )
    put(root, "src/.gitignore", text="b.py\n")
    members = Members(root)
    assert agrees(members, root) == {"a.py", "src/deep/er/c.py", "src/build/__init__.py"}
    assert members.folders() == {"", "src", "src/build", "src/deep", "src/deep/er", "docs"}
