"""Private copies of a base, one per worker, kept and refreshed from run to run."""

import fcntl
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from remora.config import make_private
from remora.errors import DiskError, HostError
from remora.workspaces.base import Base
from remora.workspaces.scan import Seen
from remora.workspaces.workspace import Workspace

_Index = tuple[bytes, list[Seen]]
"""Paths with NUL between them, and what is known of each: names need not be text."""


class SlotDriver:
    """Hands out private copies of `base` from `folder` in the user's cache.

    A slot is held by one worker of one process at a time, whatever else runs. What a slot holds
    from an earlier run or a crash does not matter: it is brought to the base when it is opened.
    """

    def __init__(self, base: Base, folder: Path) -> None:
        self._base = base
        self._folder = folder

    @contextmanager
    def open(self) -> Iterator[Workspace]:
        """A workspace equal to the base. Raises DiskError if the copy cannot be made."""
        try:
            make_private(self._folder)
            number, lock = self._free()
        except OSError as error:
            raise DiskError(f"cannot use {self._folder} for private copies: {error}") from error
        try:
            place = self._folder / f"slot-{number}"
            known = _load(place.with_suffix(".index"))
            workspace = Workspace(self._base, place, known)
            _reset(workspace, place)
            try:
                yield workspace
            finally:
                if workspace.index != known:
                    _save(place.with_suffix(".index"), workspace.index)
        finally:
            os.close(lock)

    def _free(self) -> tuple[int, int]:
        """The first slot that nobody holds, and the descriptor that holds it now."""
        for number in itertools.count():
            path = self._folder / f"slot-{number}.lock"
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
            else:
                return number, lock
        raise AssertionError("counting has no end")


def _reset(workspace: Workspace, place: Path) -> None:
    """Bring a slot to the base; one that resists (a folder nobody may read) is made anew."""
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
        raise DiskError(f"cannot make a private copy in {place}: {error}") from error


def _clear(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink()
    for folder, names, _ in os.walk(place):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o700)  # before the walk goes in
    with suppress(FileNotFoundError):
        shutil.rmtree(place)
    place.mkdir(mode=0o700)


def _load(path: Path) -> dict[str, Seen]:
    """What is known of a slot's files; empty if that cannot be read: then all are hashed."""
    try:
        names, seen = msgspec.msgpack.decode(path.read_bytes(), type=_Index)
        return dict(zip(os.fsdecode(names).split("\0"), seen, strict=True))
    except (OSError, ValueError):
        return {}


def _save(path: Path, index: dict[str, Seen]) -> None:
    """Best effort: without it the next opening hashes every file."""
    stored: _Index = (os.fsencode("\0".join(index)), [*index.values()])
    temporary = path.with_suffix(".new")
    with suppress(OSError):
        temporary.write_bytes(msgspec.msgpack.encode(stored))
        temporary.replace(path)
