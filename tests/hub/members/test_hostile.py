"""Trees made to keep whoever reads them busy for ever."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from remora.errors import OutsideError
from remora.files.project_files import project_files
from remora.hub.members.members import Members


def repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def endless(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def silent(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def nest(folder: Path, levels: int) -> None:
    """Put a file in folders in folders, at a path that no call would take."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("x.py", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


@pytest.fixture(params=["git", "walk"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.py").write_text("def a(): pass\n")
    return repository(folder) if request.param == "git" else folder


def test_an_ignore_file_that_leads_to_a_device_says_nothing(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub/b.py").touch()
    for folder in (root, root / "sub"):
        endless(folder / ".gitignore")
    assert set(Members(root).sweep()) == {"a.py", "sub/b.py"}


def test_an_ignore_file_that_is_a_pipe_is_reported_and_not_waited_for(root: Path) -> None:
    members = Members(root)
    assert set(members.sweep()) == {"a.py"}
    silent(root / ".gitignore")
    with pytest.raises(OutsideError, match=r"\.gitignore is not a regular file"):
        members.sweep()
    (root / ".gitignore").unlink()
    assert set(members.sweep()) == {"a.py"}


def test_huge_ignore_files_are_reported_and_not_read(root: Path) -> None:
    (root / ".gitignore").touch()
    os.truncate(root / ".gitignore", 1 << 34)
    with pytest.raises(OutsideError, match=r"\.gitignore: 16,384\.0 MiB, larger than 1 MiB"):
        Members(root).sweep()
    if not (root / ".git").exists():
        assert project_files(root).note


@pytest.mark.parametrize("name", ["HEAD", "commondir", "config", "info/exclude"])
@pytest.mark.parametrize("spoil", [endless, silent])
def test_a_repository_that_blocks_git_is_not_used(
    tmp_path: Path, name: str, spoil: Callable[[Path], None]
) -> None:
    root = repository(tmp_path)
    (root / "a.py").touch()
    spoil(root / ".git" / name)
    assert set(Members(root).sweep()) == {"a.py"}
    assert project_files(root).note


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What git was started for: whoever looks for a git finds one that first notes its words."""
    git, told = shutil.which("git"), tmp_path / "told"
    assert git is not None
    noting = tmp_path / "bin/git"
    noting.parent.mkdir()
    noting.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(told))}\nexec {git} "$@"\n')
    noting.chmod(0o755)
    monkeypatch.setattr("os.defpath", f"{noting.parent}{os.pathsep}{os.defpath}")
    return lambda: told.read_text().splitlines() if told.exists() else []


NAMING = {
    "included": "[include]\n\tpath = odd\n",
    "in one line": "[Include] Path=../.git/odd\n",
    "by another": "[include]\n\tpath = more\n",
    "excludes": "[core]\n\texcludesFile = .git/odd ; whatever\n",
    "quoted": '[core]\n\texcludesfile = ".git/odd"\n',
}


@pytest.mark.parametrize("config", NAMING.values(), ids=NAMING)
@pytest.mark.parametrize("spoil", [endless, silent])
def test_a_configuration_that_includes_a_device_costs_no_more_than_the_limits(
    tmp_path: Path, config: str, spoil: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.files.git._QUICK_SECONDS", 0.2)
    root = repository(tmp_path)
    (root / "a.py").touch()
    with (root / ".git/config").open("a") as file:
        file.write(config)
    (root / ".git/more").write_text(NAMING["included"])
    spoil(root / ".git/odd")
    assert set(Members(root).sweep()) == {"a.py"}
    assert project_files(root).note


@pytest.mark.parametrize(
    "config", ["[include]\n\tpath = o\\\ndd\n", '[core]\n\texcludesFile = .git/"od"d\n']
)
def test_rules_only_git_understands_are_read_once(
    tmp_path: Path, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.files.git._QUICK_SECONDS", 0.2)
    root = repository(tmp_path)
    (root / "a.py").touch()
    with (root / ".git/config").open("a") as file:
        file.write(config)
    silent(root / ".git/odd")
    members = Members(root)
    assert set(members.sweep()) == {"a.py"}
    monkeypatch.setattr("remora.hub.members.exclusion_rules.git_paths", None)  # asking would fail
    assert set(members.sweep()) == {"a.py"}


def test_a_configuration_that_names_ordinary_files_is_taken(tmp_path: Path) -> None:
    root = repository(tmp_path)
    for name in ("a.py", "b.py", "c.py"):
        (root / name).touch()
    with (root / ".git/config").open("a") as file:
        file.write("[core]\n\texcludesFile = .git/mine\n[include]\n\tpath = more\n")
        file.write("\tpath = gone\n")
    (root / ".git/more").write_text("[user]\n\tname = Ann\n")
    (root / ".git/mine").write_text("b.py\n")
    (root / ".git/info/exclude").write_text("c.py\n")
    assert set(Members(root).sweep()) == {"a.py"}
    assert project_files(root).paths == ("a.py",)
    subprocess.run(["git", "config", "core.excludesFile", os.devnull], cwd=root, check=True)
    assert set(Members(root).sweep()) == {"a.py", "b.py"}


def test_hundreds_of_folders_in_each_other_are_one_conversation_with_git(
    root: Path, asked: Callable[[], list[str]]
) -> None:
    assert set(Members(root).sweep()) == {"a.py"}
    of_one = len(asked())
    nest(root, 600)
    assert set(Members(root).sweep()) == {"a.py", "d/" * 600 + "x.py"}
    of_all = len(asked()) - of_one
    assert of_all == of_one
    subprocess.run(["rm", "-rf", str(root / "d")], check=True)


@pytest.mark.parametrize("name", ["HEAD", "commondir"])
@pytest.mark.parametrize("spoil", [endless, silent, lambda path: path.write_bytes(b"a\0b")])
def test_nor_does_a_repository_within_keep_anybody(
    root: Path, name: str, spoil: Callable[[Path], None]
) -> None:
    spoil(repository(root / "sub") / ".git" / name)
    (root / "sub/b.py").touch()
    assert "a.py" in Members(root).sweep()


def test_impossible_repositories_and_names_are_nobodys(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub/.git").write_bytes(b"gitdir: a\0b\n")
    (root / "sub/b.py").touch()
    assert "a.py" in Members(root).sweep()
    assert Members(root).belonging(["a\0.py", "a.py", "x" * 5000 + ".py"]) == {"a.py"}


@pytest.mark.slow
def test_a_path_of_a_thousand_folders_is_a_path(tmp_path: Path) -> None:
    path = "d/" * 1200 + "x.py"
    nest(tmp_path, 1200)
    try:
        assert Members(tmp_path).belonging([path]) == {path}
    finally:  # too deep for Python's own rmtree
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@pytest.mark.parametrize("spoil", [endless, silent])
def test_a_project_whose_ignore_file_has_no_end_is_listed_at_once(
    tmp_path: Path, spoil: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remora.files.git._GIT_SECONDS", 3600)  # nobody is to wait at all
    root = repository(tmp_path)
    (root / "a.py").touch()
    spoil(root / ".gitignore")
    assert "a.py" in project_files(root).paths
