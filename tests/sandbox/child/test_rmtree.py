"""Folders that somebody else filled, removed whole."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from remora.files.file_lock import try_lock
from remora.rmtree import remove_tree, temporary_folder
from remora.runs.retention.removable import size_of
from remora.workspaces.copy.slot import SlotDriver
from remora.workspaces.copy.snapshot import BaseSnapshot
from tests.workspaces.conftest import tree

DEEP = 1500


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def nested(folder: Path, levels: int) -> None:
    """Folders in folders, with a path that no call would take."""
    with inside(folder):
        for level in range(levels):
            Path(f"file{level % 3}").write_text("x")
            Path("below").mkdir()
            os.chdir("below")


def test_a_tree_is_removed_completely_and_a_missing_one_is_reported(tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "a/b").mkdir(parents=True)
    (place / "a/b/file").write_text("x")
    os.mkfifo(place / "a/pipe")
    remove_tree(place)
    assert not place.exists()
    with pytest.raises(FileNotFoundError):
        remove_tree(tmp_path / "none")
    with temporary_folder("test-") as place:
        place.rmdir()


def test_so_deep_that_neither_a_path_nor_a_stack_holds_it(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    nested(place, DEEP)
    assert size_of(place) > 0
    remove_tree(place)
    assert not place.exists()


def test_folders_that_nobody_may_enter(tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "closed/within").mkdir(parents=True)
    (place / "closed/within/file").write_text("x")
    (place / "closed/within").chmod(0o000)
    (place / "closed").chmod(0o000)
    place.chmod(0o500)
    remove_tree(place)
    assert not place.exists()


def test_link_targets_are_not_removed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o755)
    (kept / "file").write_text("x")
    place = tmp_path / "place"
    (place / "a").mkdir(parents=True)
    (place / "a/link").symlink_to(kept)
    (place / "file").symlink_to(kept / "file")
    remove_tree(place)
    assert not place.exists()
    assert (kept / "file").read_text() == "x"
    with pytest.raises(OSError, match="link"):
        remove_tree(_linked(tmp_path, kept))
    assert (kept / "file").exists()


def _linked(tmp_path: Path, to: Path) -> Path:
    (tmp_path / "link").symlink_to(to)
    return tmp_path / "link"


@pytest.mark.slow
def test_a_private_folder_is_gone_whatever_was_done_in_it() -> None:
    with temporary_folder("test-") as place:
        assert place.stat().st_mode & 0o777 == 0o700
        nested(place, DEEP)
        (place / "closed").mkdir(mode=0o000)
    assert not place.exists()


def test_the_next_process_removes_the_folders_of_killed_ones_alone(tmp_path: Path) -> None:
    program = (
        "import os, sys; from remora.rmtree import temporary_folder\n"
        "with temporary_folder('test-') as place:\n"
        "    (place / 'closed').mkdir(mode=0o000)\n"
        "    if sys.argv[1:]: os.kill(os.getpid(), 9)\n"
    )
    run = partial(subprocess.run, env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    run([sys.executable, "-c", program, "killed"])
    (killed,) = tmp_path.iterdir()
    living, of_others = tmp_path / "remora-test-1.locked", tmp_path / "remora-test-2.locked"
    others = [living, tmp_path / "remora-test-3", *([of_others] if os.geteuid() == 0 else [])]
    for folder in others:
        folder.mkdir()
    if of_others in others:
        os.chown(of_others, 12_345, -1)
    with try_lock(living):
        run([sys.executable, "-c", program])
    assert not killed.exists()
    assert sorted(tmp_path.iterdir()) == sorted(others)


@pytest.mark.slow
@pytest.mark.parametrize("above", ["", "__pycache__"])
def test_a_private_copy_that_was_nested_deeply_is_whole_for_the_next_job(
    tmp_path: Path, base: BaseSnapshot, above: str
) -> None:
    driver = SlotDriver(base, tmp_path / "slots")
    with driver.open() as workspace:
        before = tree(workspace.tree)
        (workspace.tree / above).mkdir(exist_ok=True)
        nested(workspace.tree / above, DEEP)

    with driver.open() as workspace:
        assert tree(workspace.tree) == before
        assert workspace.snapshot() == {}
