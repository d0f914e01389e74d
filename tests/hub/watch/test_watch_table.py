"""WatchedFolders: one path for each watch and one watch for each path, whatever moves."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.hub.watch.inotify_syscalls import Inotify
from remora.hub.watch.watch_table import WatchedFolders

pytestmark = pytest.mark.needs("inotify")


@pytest.fixture
def kernel() -> Iterator[Inotify]:
    opened = Inotify()
    yield opened
    opened.close()
    opened.close()


def held(kernel: Inotify) -> set[int]:
    lines = Path(f"/proc/self/fdinfo/{kernel.fileno()}").read_text().splitlines()
    return {int(line.split("wd:")[1].split()[0], 16) for line in lines if "wd:" in line}


def test_a_folder_that_moved_is_known_by_its_new_path(kernel: Inotify, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    folders = WatchedFolders(kernel, str(tmp_path))
    assert folders.add("a")
    (watch,) = held(kernel)
    (tmp_path / "a").rename(tmp_path / "b")
    assert folders.add("b")
    assert folders.path(watch) == "b"
    assert folders.paths() == {"b"}
    folders.leave_within("a")  # what tells of the move comes later
    assert held(kernel) == {watch}


def test_another_folder_at_the_same_path(kernel: Inotify, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    folders = WatchedFolders(kernel, str(tmp_path))
    folders.add("a")
    (first,) = held(kernel)
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "a").mkdir()
    folders.add("a")
    (second,) = held(kernel)
    assert first != second
    assert folders.path(first) is None
    assert folders.path(second) == "a"
    assert folders.ended(first) is None
    assert folders.ended(second) == "a"
    assert folders.paths() == set()


def test_what_is_not_a_folder_is_not_watched(kernel: Inotify, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("real")
    folders = WatchedFolders(kernel, str(tmp_path))
    assert not folders.add("file")
    assert not folders.add("link")
    assert not folders.add("absent")
    folders.add("real")
    shutil.rmtree(tmp_path / "real")
    assert not folders.add("real")
    assert folders.paths() == set()


def test_leaving_a_folder_and_what_is_in_it(kernel: Inotify, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "ab").mkdir()
    folders = WatchedFolders(kernel, str(tmp_path))
    for path in ("", "a", "a/b", "ab"):
        folders.add(path)
    folders.leave_within("a")
    assert folders.paths() == {"", "ab"}
    assert len(held(kernel)) == 2
