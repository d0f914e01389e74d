"""Removal of folders that other programs created, whatever their depth and permissions.

This module is also a program that removes the folder that its argument names.
"""

from __future__ import annotations

import fcntl
import functools
import os
import sys
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_OWNER_RIGHTS = 0o700
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PREFIX, _SUFFIX = "remora-", ".locked"
"""Both ends of the names of temporary folders. No folder of a user has such a name by chance."""


def remove_tree(folder: Path | str | bytes, *, dir_fd: int | None = None) -> None:
    """Remove a folder and everything in it, without following links.

    `shutil.rmtree` is not used, because it is recursive and its paths can exceed the kernel's
    length limit. Raises OSError if the folder cannot be removed.
    """
    top = _open(folder, dir_fd)
    try:
        while names := _remove_files(top):
            for name in names:
                _remove_below(top, name)
    finally:
        os.close(top)
    os.rmdir(folder, dir_fd=dir_fd)


def try_remove_tree(folder: Path | str) -> None:
    """Remove as much of a folder as possible. Never raises OSError."""
    with suppress(OSError):
        remove_tree(folder)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Create a locked folder, and remove it when the block exits.

    The folder is removed even if a command has changed its permissions. If this process is killed,
    the next one of the same user removes it. The name begins with `remora-` and `prefix`.
    """
    import tempfile

    _remove_unlocked(tempfile.gettempdir())
    folder, lock = _make_locked(_PREFIX + prefix)
    try:
        yield folder
    finally:
        try_remove_tree(folder)
        os.close(lock)


def _make_locked(prefix: str) -> tuple[Path, int]:
    """Create a temporary folder. Return its path, and the descriptor that locks it."""
    import tempfile
    from pathlib import Path

    while True:
        folder = Path(tempfile.mkdtemp(_SUFFIX, prefix)).resolve()
        with suppress(FileNotFoundError):  # another process removed it before it was locked
            lock = os.open(folder, _FOLDER)
            with suppress(OSError):  # some network file systems lock nothing, for no process
                fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


@functools.cache
def _remove_unlocked(parent: str) -> None:
    """Remove the temporary folders of this user's processes that have ended. Never raises."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                _try_remove_unlocked(entry.path)


def _try_remove_unlocked(folder: str) -> None:
    with suppress(OSError):  # it is in use, not a folder, or already gone
        if os.lstat(folder).st_uid != os.geteuid():
            return
        lock = _open(folder, None)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(folder)
        finally:
            os.close(lock)


def _remove_below(top: int, name: str) -> None:
    folder = _open(name, top)
    try:
        for below in _remove_files(folder):
            os.close(_open(below, folder))  # moving a folder requires write permission in it
            os.rename(below, os.urandom(16).hex(), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _remove_files(folder: int) -> list[str]:
    """Remove everything in a folder except its subfolders, and return the subfolders' names."""
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
    return folders


def _open(name: Path | str | bytes, parent: int | None) -> int:
    """Open a folder, and add any permissions that are needed to empty it."""
    try:
        handle = os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        os.chmod(name, _OWNER_RIGHTS, dir_fd=parent)
        handle = os.open(name, _FOLDER, dir_fd=parent)
    if os.fstat(handle).st_mode & _OWNER_RIGHTS != _OWNER_RIGHTS:
        os.fchmod(handle, _OWNER_RIGHTS)
    return handle


if __name__ == "__main__":
    try_remove_tree(sys.argv[1])
