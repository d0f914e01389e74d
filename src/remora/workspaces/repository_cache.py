"""Folder of a machine's clones and working trees for workers, which several processes share.

A process locks what it uses, and its end releases the locks, also if it was killed. So whatever is
not locked can be removed.
"""

import os
import socket
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote

from remora.errors import DiskError
from remora.files.file_lock import locked, try_lock
from remora.rmtree import remove_tree, try_remove_tree

UNUSED = timedelta(days=30)
"""Time after which clones, and commits in them, are removed if they were not used."""


def repositories_folder(cache: Path) -> Path:
    """Return this machine's folder of clones and trees.

    Machines may share `cache`, but on a network file system the lock of a folder is only known to its
    own machine.
    """
    return cache / "repositories" / f"host-{quote(socket.gethostname(), safe='')}"


@contextmanager
def used_clone(folder: Path, name: str) -> Iterator[Path]:
    """Yield the path of a clone, which is not removed in the meantime. It may be missing.

    Other clones that are unused are removed.
    """
    with locked(folder / f"{name}.use", shared=True):
        remove_unused(folder)
        yield folder / name


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder, which is removed afterwards unless it was renamed."""
    with ExitStack() as stack:
        with locked(_new_folders_lock(folder)):
            new = Path(mkdtemp(prefix="new-", dir=folder))
            stack.enter_context(try_lock(new))
        try:
            yield new
        finally:
            try_remove_tree(new)


def find_unused(folder: Path) -> list[Path]:
    """Return what can be removed from the cache.

    These are the new folders of processes that were killed, the clones that were not used for a
    month, the folders of other machines whose clones were not used for a month, and what an
    interrupted removal has left.
    """
    return list(_unused(folder))


def remove_unused(folder: Path) -> None:
    """Remove what can be removed. If this is interrupted, the next call removes the rest."""
    for path in find_unused(folder):
        with suppress(OSError, DiskError):  # another process removes it, or the disk is full
            remove_if_unused(path, folder)


def remove_if_unused(path: Path, folder: Path) -> None:
    """Remove a path that `find_unused` returned.

    Raises DiskError if it is used again, and OSError if it cannot be removed.
    """
    with closing(_unused(folder)) as unused:
        if path not in unused:
            raise DiskError("a worker uses or has removed it")
        gone = set_aside(path, folder)  # it is still locked
    remove_tree(gone)


def set_aside(path: Path, folder: Path) -> Path:
    """Give a path another name first, because its removal takes long. Return the new path."""
    return path.rename(folder / f"gone-{os.urandom(8).hex()}")


def _unused(folder: Path) -> Generator[Path, None, None]:
    """Yield what can be removed. Each path is locked until the next one is requested."""
    yield from _unused_new_folders(folder)
    yield from _unused_clones(folder)
    yield from _unused_machines(folder)
    yield from folder.glob("gone-*")


def _unused_new_folders(folder: Path) -> Iterator[Path]:
    # a new folder is locked before this lock is free
    with suppress(OSError), locked(_new_folders_lock(folder)):
        for new in folder.glob("new-*"):
            with suppress(OSError), try_lock(new) as is_free:  # its process may have removed it
                if is_free:
                    yield new


def _unused_clones(folder: Path) -> Iterator[Path]:
    """Yield old clones. Their `.use` files stay, because they are the locks."""
    for use in folder.glob("*.use"):
        with suppress(OSError), try_lock(use) as is_free:
            clone = use.with_suffix("")
            if is_free and _is_old(use) and clone.exists():
                yield clone


def _unused_machines(folder: Path) -> Iterator[Path]:
    """Yield old folders of other machines, whose locks may be unknown here."""
    for other in folder.parent.glob("host-*"):
        with suppress(OSError):
            if other != folder and all(map(_is_old, (other, *other.glob("*.use")))):
                yield other


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime >= UNUSED.total_seconds()


def _new_folders_lock(folder: Path) -> Path:
    return folder / "new.lock"
