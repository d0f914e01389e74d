"""The kernel queues events before a system call returns, so a drain after it misses nothing."""

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from remora.hub.members.members import Members
from remora.hub.watch.inotify import Changes
from remora.hub.watch.watcher import Watcher, open_watcher

pytestmark = pytest.mark.needs("inotify")

NAMES = ["a.py", "b.py", "d/a.py", "d/e/b.py", os.fsdecode(b"d/\xe9\n%.py")]


@pytest.fixture(scope="module")
def followed() -> Iterator[tuple[Path, Watcher]]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "project"
        (root / "d/e").mkdir(parents=True)
        watcher = open_watcher(root, Members(root))
        watcher.drain()
        yield root, watcher
        watcher.close()


def change(root: Path, name: str, how: str, count: int) -> None:
    path = root / name
    match how:
        case "write":
            path.write_text(f"x = {count}\n")
        case "append, and keep open":
            with path.open("a") as file:
                file.write("y = 1\n")
                file.flush()
        case "replace":
            other = path.with_suffix(".tmp")
            other.write_text(f"x = {count}\n")
            other.replace(path)
        case "chmod":
            path.touch()
            path.chmod(0o600 + count % 8)
        case "remove":
            path.touch()
            path.unlink()


counter = itertools.count()
hows = some.sampled_from(["write", "append, and keep open", "replace", "chmod", "remove"])


@given(some.lists(some.tuples(some.sampled_from(NAMES), hows), min_size=1, max_size=8))
def test_every_change_is_reported_at_once(
    followed: tuple[Path, Watcher], changes: list[tuple[str, str]]
) -> None:
    root, watcher = followed
    for name, how in changes:
        change(root, name, how, next(counter))
        seen = watcher.drain()
        assert seen.paths == {name}
        assert seen.complete


@given(some.lists(some.tuples(some.sampled_from(NAMES), hows), min_size=1, max_size=8))
def test_nothing_is_lost_between_two_drains(
    followed: tuple[Path, Watcher], changes: list[tuple[str, str]]
) -> None:
    root, watcher = followed
    for name, how in changes:
        change(root, name, how, next(counter))
    assert watcher.drain() == Changes(frozenset(name for name, _ in changes), complete=True)
    assert watcher.drain() == Changes(frozenset(), complete=True)
