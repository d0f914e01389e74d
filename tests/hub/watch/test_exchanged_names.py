"""Two entries exchanged by `renameat2` are both followed."""

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from remora.hub.members.members import Members
from remora.hub.watch.watcher import Watcher, open_watcher

pytestmark = pytest.mark.needs("inotify")

_AT_FDCWD = -100
_EXCHANGE = ctypes.c_uint(2)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for folder, inner in (("one", "i"), ("two", "j"), ("two/three", "k")):
        (tmp_path / "project" / folder / inner).mkdir(parents=True)
        (tmp_path / "project" / folder / inner / "a.py").write_text(f"x = '{folder}'\n")
    (tmp_path / "project/two/a.py").write_text("x = 0\n")
    return tmp_path / "project"


@pytest.fixture
def watcher(root: Path) -> Iterator[Watcher]:
    made = open_watcher(root, Members(root))
    made.drain()
    yield made
    made.close()


def exchange(one: Path, other: Path) -> None:
    if not hasattr(ctypes.CDLL(None), "renameat2"):
        pytest.skip("this system's library cannot")
    done = ctypes.CDLL(None).renameat2(
        _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE
    )
    assert done == 0


@pytest.mark.parametrize(
    ("one", "other", "then"),
    [
        ("one", "two", ["one/j/a.py", "two/i/a.py", "one/three/k/a.py"]),
        ("one", "two/three", ["one/k/a.py", "two/three/i/a.py"]),
        ("two/three", "one", ["one/k/a.py", "two/three/i/a.py"]),
        ("one", "two/a.py", ["two/a.py/i/a.py"]),
    ],
)
def test_what_changes_in_folders_that_were_exchanged_is_reported(
    one: str, other: str, then: list[str], root: Path, watcher: Watcher
) -> None:
    exchange(root / one, root / other)
    assert not watcher.drain().complete
    for path in then:
        (root / path).write_text("x = 1\n")
        seen = watcher.drain()
        assert seen.paths == {path}
        assert seen.complete
