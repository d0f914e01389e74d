"""Key of a project: the same for all clones, and different for different projects."""

import socket
from pathlib import Path

import pytest

from remora.bootstrap.open_trace import project_key
from tests.cli.conftest import git, write


def commit(folder: Path, name: str) -> None:
    write(folder, {name: name})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", name)


def repository(folder: Path, first: str = "first.py") -> Path:
    folder.mkdir()
    git(folder, "init", "-q")
    commit(folder, first)
    return folder


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return repository(tmp_path / "origin")


def test_it_stays_the_same_when_another_history_is_merged(origin: Path, tmp_path: Path) -> None:
    before = project_key(origin)
    for number in range(4):  # one of their first commits has a lower hash
        other = repository(tmp_path / f"other{number}", f"other{number}.py")
        git(origin, "fetch", "-q", str(other), "HEAD")
        git(origin, "merge", "-q", "--allow-unrelated-histories", "-m", "merge", "FETCH_HEAD")
    assert project_key(origin) == before


def test_folders_of_a_repository_differ(origin: Path, tmp_path: Path) -> None:
    folders = ["a", "b", " a", "a/b", "é"]
    for folder in folders:
        (origin / folder).mkdir()
    assert len({project_key(origin / folder) for folder in folders} | {project_key(origin)}) == 6


def test_clones_and_worktrees_are_the_same_project_and_so_are_their_folders(
    origin: Path, tmp_path: Path
) -> None:
    key = project_key(origin)
    commit(origin, "services/shop/code.py")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    git(origin, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(origin, "checkout", "-q", "-b", "feature")
    commit(origin, "third.py")
    for place in (origin, tmp_path / "clone", tmp_path / "tree"):
        assert project_key(place) == key
        assert project_key(place / "services/shop") == f"{key}services/shop/", key
    assert project_key(repository(tmp_path / "other", "other.py")) != key


def test_a_shallow_clone_has_a_key_of_its_own(origin: Path, tmp_path: Path) -> None:
    commit(origin, "second.py")
    git(tmp_path, "clone", "-q", "--depth", "1", origin.as_uri(), "shallow")
    assert project_key(tmp_path / "shallow") == own_key(tmp_path / "shallow")
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    assert project_key(tmp_path / "shallow") == project_key(origin)


def test_so_has_a_folder_without_git_or_without_commits(tmp_path: Path) -> None:
    assert project_key(tmp_path) == own_key(tmp_path)
    git(tmp_path, "init", "-q")
    assert project_key(tmp_path) == own_key(tmp_path)


def own_key(folder: Path) -> str:
    return f"{socket.gethostname()}:{folder.resolve()}"
