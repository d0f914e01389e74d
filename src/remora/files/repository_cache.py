"""Folder of a machine's clones and working trees for workers, which several processes share.

A process locks what it uses, and its end releases the locks, also if it was killed. So whatever is
not locked can be removed.
"""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from urllib.parse import quote

_UNUSED_S = 7 * 86_400
"""Time after which an unused clone is removed."""


def repositories_folder(cache: Path) -> Path:
    """Return this machine's folder of clones and trees.

    Machines may share `cache`, but on a network file system the lock of a folder is only known to its
    own machine.
    """
    return cache / "repositories" / f"host-{quote(socket.gethostname(), safe='')}"


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[int]:
    """Lock a file, which is created if it is missing, and set its time to now.

    Yield its descriptor. If this process is killed, the lock lasts until all processes that got the
    descriptor have ended.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        os.utime(file)
        yield file
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)  # also if git left a process, such as a credential cache
        os.close(file)


@contextmanager
def used_clone(folder: Path, name: str) -> Iterator[Path]:
    """Yield the path of a clone, which is not removed in the meantime. It may be missing."""
    with locked(folder / f"{name}.use", shared=True):
        yield folder / name


@contextmanager
def new_tree(folder: Path) -> Iterator[Path]:
    """Yield an empty folder for a working tree. It is removed afterwards."""
    with ExitStack() as stack:
        with locked(_trees_lock(folder)):
            tree = Path(mkdtemp(prefix="tree-", dir=folder))
            stack.enter_context(_try_lock(tree))
        try:
            yield tree
        finally:
            rmtree(tree, ignore_errors=True)


def find_unused(folder: Path) -> list[Path]:
    """Return what `remove_unused` would remove now."""
    return [*_unused(folder), *folder.glob("gone-*")]


def remove_unused(folder: Path) -> None:
    """Remove the trees of processes that were killed, and clones that were not used for a week.

    If it is interrupted, the next call removes the rest.
    """
    for path in _unused(folder):
        with suppress(OSError):  # a full disk, or another process removed it
            _rename_for_removal(path)
    for path in folder.glob("gone-*"):
        rmtree(path, ignore_errors=True)


def _unused(folder: Path) -> Iterator[Path]:
    """Yield unused trees and clones. Each one is locked until the next one is requested."""
    yield from _unused_trees(folder)
    yield from _unused_clones(folder)


def _unused_trees(folder: Path) -> Iterator[Path]:
    # a new tree is locked before this lock is free
    with suppress(OSError), locked(_trees_lock(folder)):
        for tree in folder.glob("tree-*"):
            with suppress(OSError), _try_lock(tree) as file:  # its process may have removed it
                if file is not None:
                    yield tree


def _unused_clones(folder: Path) -> Iterator[Path]:
    for use in folder.glob("*.use"):
        with suppress(OSError), _try_lock(use) as file:
            if file is not None and time.time() - os.fstat(file).st_mtime >= _UNUSED_S:
                for path in (use.with_suffix(""), use.with_suffix(".bundle")):
                    if path.exists():
                        yield path


def _rename_for_removal(path: Path) -> None:
    """Give a folder another name at once, because its removal takes long."""
    path.rename(path.with_name(f"gone-{path.name}-{os.urandom(4).hex()}"))


@contextmanager
def _try_lock(path: Path) -> Iterator[int | None]:
    """Lock a file or folder for this process alone, and yield its descriptor.

    Yield None if another process uses it.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield file
    finally:
        os.close(file)


def _trees_lock(folder: Path) -> Path:
    return folder / "trees.lock"
