"""Folder of a machine's clones and working trees for workers, which several processes share.

A process locks what it uses, and its end releases the locks, also if it was killed. So whatever is
not locked can be removed.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

_UNUSED_S = 7 * 86_400
"""Time after which an unused clone is removed."""


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Lock a file, which is created if it is missing, and set its time to now."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        os.utime(file)
        yield
    finally:
        os.close(file)


@contextmanager
def used_clone(folder: Path, name: str) -> Iterator[Path]:
    """Yield the path of a clone, which is not removed in the meantime. It may be missing."""
    with locked(folder / f"{name}.use", shared=True):
        yield folder / name


@contextmanager
def new_tree(folder: Path) -> Iterator[Path]:
    """Yield an empty folder for a working tree. It is removed afterwards."""
    with locked(_trees_lock(folder)):
        tree = Path(mkdtemp(prefix="tree-", dir=folder))
        file = _open_locked(tree)
    try:
        yield tree
    finally:
        rmtree(tree, ignore_errors=True)
        if file is not None:
            os.close(file)


def remove_unused(folder: Path) -> None:
    """Remove the trees of processes that were killed, and clones that were not used for a week.

    If it is interrupted, the next call removes the rest.
    """
    with suppress(OSError):
        _put_away_trees(folder)
        _put_away_clones(folder)
        for path in folder.glob("gone-*"):
            rmtree(path, ignore_errors=True)


def _put_away_trees(folder: Path) -> None:
    with locked(_trees_lock(folder)):  # a new tree is locked before this lock is free
        for tree in folder.glob("tree-*"):
            file = _open_locked(tree)
            if file is not None:
                _put_away(tree)
                os.close(file)


def _put_away_clones(folder: Path) -> None:
    for use in folder.glob("*.use"):
        if time.time() - use.stat().st_mtime < _UNUSED_S:
            continue
        file = _open_locked(use)
        if file is None:
            continue
        if time.time() - os.fstat(file).st_mtime >= _UNUSED_S:  # it was not used just now
            for path in (use.with_suffix(""), use.with_suffix(".bundle")):
                if path.exists():
                    _put_away(path)
        os.close(file)


def _put_away(path: Path) -> None:
    """Give a folder another name at once, because its removal takes long."""
    path.rename(path.with_name(f"gone-{path.name}-{os.urandom(4).hex()}"))


def _open_locked(path: Path) -> int | None:
    """Lock a file or folder for this process alone, or return None if another process uses it."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _trees_lock(folder: Path) -> Path:
    return folder / "trees.lock"
