"""What git is asked about a folder: its places, its index, and its verdicts about paths."""

import os
import subprocess
from pathlib import Path

import pytest

from remora.errors import OutsideError
from remora.files.git_listing import git_index, git_paths


def git(root: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", ".")
    return folder


def test_the_places_of_a_folder_within_a_repository(root: Path) -> None:
    (root / "src/deep").mkdir(parents=True)
    (root / ".git/more").write_text("[core]\n\texcludesFile = ~/mine\n")
    git(root, "config", "include.path", "more")
    places = git_paths(root / "src/deep")
    assert places.top == root.resolve()
    assert places.index_file.resolve() == root.resolve() / ".git/index"
    sources = {path.resolve() for path in places.sources}
    assert {root / ".gitignore", root / "src/.gitignore"} <= sources
    assert {root / ".git/info/exclude", root / ".git/config", root / ".git/more"} <= sources
    assert {Path.home() / "mine", Path.home() / ".gitconfig"} <= sources
    assert root.parent / ".gitignore" not in sources


def test_a_repository_in_a_folder_with_a_line_break(tmp_path: Path) -> None:
    root = tmp_path / "a\nb" / "p q"
    root.mkdir(parents=True)
    git(root, "init", "-q", ".")
    (root / "s").mkdir()
    for folder in (root, root / "s"):
        places = git_paths(folder)
        assert places.top == root
        assert places.index_file.resolve() == root / ".git/index"
        assert root / ".git/info/exclude" in {path.resolve() for path in places.sources}


def test_no_places_without_a_repository_or_in_an_ignored_folder(root: Path) -> None:
    with pytest.raises(OutsideError, match="git cannot be used"):
        git_paths(root.parent)
    (root / ".gitignore").write_text("out/\n")
    (root / "out").mkdir()
    with pytest.raises(OutsideError, match="ignored by the git repository"):
        git_paths(root / "out")


def test_tracked_paths_and_submodules(root: Path) -> None:
    odd = os.fsdecode(b"caf\xe9\n:.py")
    (root / odd).write_text("")
    git(root, "init", "-q", "sub")
    git(root / "sub", "commit", "-q", "--allow-empty", "-m", "s")
    git(root, "-c", "advice.addEmbeddedRepo=false", "add", ".")
    assert git_index(root) == ((odd,), ("sub",))
