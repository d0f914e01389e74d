"""Slots: a folder of copied files for each worker. Later runs reuse the folders."""

import fcntl
import itertools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError, HostError
from remora.regular_file import closing_fd, replace_file
from remora.rmtree import remove_tree
from remora.workspaces.copy.scan import ScannedFile
from remora.workspaces.copy.snapshot import BaseSnapshot
from remora.workspaces.copy.workspace import Workspace

_Index = tuple[bytes, list[ScannedFile]]
"""Paths joined with NUL, as bytes because names may not be text, and the scan of each file."""


class SlotDriver:
    """Provides private copies of `base` in `folder`. Each copy is locked by the worker that uses
    it.

    A slot is reset to the base when it is opened, which removes anything left by an earlier run or
    a crash.
    """

    def __init__(self, base: BaseSnapshot, folder: Path) -> None:
        self._base = base
        self._folder = folder

    @contextmanager
    def open(self) -> Iterator[Workspace]:
        """Yield a workspace equal to the base. Raises DiskError if the copy cannot be created."""
        try:
            make_private(self._folder)
            number, lock = self._free()
        except OSError as error:
            raise DiskError(f"cannot use {self._folder} for private copies: {error}") from error
        with closing_fd(lock):
            place = self._folder / f"slot-{number}"
            known = _load(place.with_suffix(".index"))
            workspace = Workspace(self._base, place, known)
            _reset(workspace)
            try:
                yield workspace
            finally:
                if workspace.index != known:
                    _save(place.with_suffix(".index"), workspace.index)

    def _free(self) -> tuple[int, int]:
        """Lock the first free slot. Return its number and the file descriptor of the lock."""
        for number in itertools.count():
            path = self._folder / f"slot-{number}.lock"
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
            else:
                return number, lock
        raise AssertionError("unreachable")


def _reset(workspace: Workspace) -> None:
    """Reset a slot to the base, or recreate the slot if the reset fails, for example because a
    folder is unreadable.
    """
    place = workspace.tree
    if place.is_symlink() or not place.is_dir():
        _clear(place)
    with suppress(HostError, OSError):
        place.chmod(0o700)
        workspace.reset()
        return
    try:
        _clear(place)
        workspace.reset()
    except (HostError, OSError) as error:
        raise DiskError(f"cannot create a private copy in {place}: {error}") from error


def _clear(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink()
    with suppress(FileNotFoundError):
        remove_tree(place)
    place.mkdir(mode=0o700)


def _load(path: Path) -> dict[str, ScannedFile]:
    """Load the saved scan of a slot.

    If the scan cannot be read, return an empty scan, so that all files are hashed again.
    """
    try:
        names, files = msgspec.msgpack.decode(path.read_bytes(), type=_Index)
        return dict(zip(os.fsdecode(names).split("\0"), files, strict=True))
    except (OSError, ValueError):
        return {}


def _save(path: Path, index: Mapping[str, ScannedFile]) -> None:
    """Save the scan of a slot, ignoring errors. Without a saved scan, all files are hashed next
    time.
    """
    stored: _Index = (os.fsencode("\0".join(index)), [*index.values()])
    with suppress(OSError):
        replace_file(path, msgspec.msgpack.encode(stored))
