"""Folders that somebody else filled, removed whole: however deep, whatever rights their folders have."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OURS = 0o700
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(place: Path | bytes, *, dir_fd: int | None = None) -> None:
    """Remove a folder with all below it; no link is followed. Raises OSError.

    `shutil.rmtree` goes as deep as the stack does, and a path no longer than the kernel takes: a
    tree can be deeper. Here a folder comes up to the top before it is emptied.
    """
    top = _opened(place, dir_fd)
    try:
        while folders := _emptied(top):
            for name in folders:
                _remove_below(top, name)
    finally:
        os.close(top)
    os.rmdir(place, dir_fd=dir_fd)


def try_remove_tree(place: Path) -> None:
    """Remove a folder as far as that can be done; what is left is nobody's loss."""
    with suppress(OSError):
        remove_tree(place)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A new folder for one command, which may do to it what it likes; gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    try:
        yield place
    finally:
        try_remove_tree(place)


def _remove_below(top: int, name: str) -> None:
    folder = _opened(name, top)
    try:
        for below in _emptied(folder):
            os.close(_opened(below, folder))  # moving a folder takes the right to write in it
            os.rename(below, secrets.token_hex(16), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _emptied(folder: int) -> list[str]:
    """Remove all but folders; their names."""
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
    return folders


def _opened(name: Path | str | bytes, above: int | None) -> int:
    """A folder, with the rights that we need in it."""
    try:
        opened = os.open(name, _FOLDER, dir_fd=above)
    except PermissionError:
        os.chmod(name, _OURS, dir_fd=above)
        opened = os.open(name, _FOLDER, dir_fd=above)
    if os.fstat(opened).st_mode & _OURS != _OURS:
        os.fchmod(opened, _OURS)
    return opened
