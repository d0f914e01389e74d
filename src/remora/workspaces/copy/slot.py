"""Slot driver, which gives each worker a folder of copied files. Later runs reuse the folder."""

import fcntl
import itertools
import os
import stat as st
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from remora.config.user_folders import make_private
from remora.errors import DiskError, HostError
from remora.rmtree import remove_tree
from remora.workspaces.copy.scan import OWNER_RIGHTS, CopyState, ScannedFile, TreeScan, scan_tree
from remora.workspaces.copy.snapshot import BaseSnapshot
from remora.workspaces.copy.workspace import Workspace, matches_base
from remora.workspaces.rooted_files import RootedFiles

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
        try:
            place = self._folder / f"slot-{number}"
            known = _load(place.with_suffix(".index"))
            slot = SlotCopy(self._base, place, known)
            _reset(slot, place)
            try:
                yield Workspace(self._base, slot)
            finally:
                if slot.index != known:
                    _save(place.with_suffix(".index"), slot.index)
        finally:
            os.close(lock)

    def close(self) -> None:
        """Do nothing, because slots are kept for the next run."""

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


class SlotCopy:
    """Copied files in `tree`. A scan hashes only files whose status has changed."""

    def __init__(self, base: BaseSnapshot, tree: Path, index: dict[str, ScannedFile]) -> None:
        self.tree = tree
        self.index = index
        self._base = base
        self._files = RootedFiles(tree)
        self._folders = _folders(base.files)

    def state(self) -> CopyState:
        """Return all files, and the files of the base that are missing.

        Raises HostError if the copy cannot be read.
        """
        scan = self._scan()
        return CopyState(scan.files, self._base.files.keys() - scan.files.keys(), scan.unsupported)

    def reset(self) -> None:
        """Restore every file of the base, and remove all other files. Raises HostError, OSError or
        DiskError.
        """
        scan = self._scan()
        for path in self._folders.intersection(scan.closed):
            self._restore_rights(path)
        extra = [path for path in scan.folders if path not in self._folders]
        extra += [path for path in scan.files if path not in self._base.files]
        for path in extra + scan.tool_caches + scan.unsupported:
            self._remove(path)
        for path, known in self._base.files.items():
            file = scan.files.get(path)
            if file is None or not matches_base(known, file):
                self._restore(path)

    def _scan(self) -> TreeScan:
        try:
            scan = scan_tree(self.tree, self.index)
        except OSError as error:
            raise HostError(f"the workspace cannot be read: {error}") from error
        self.index = scan.files
        return scan

    def _restore(self, path: str) -> None:
        content, mode = self._base.pieces(path), self._base.files[path].mode
        self._files.put(path, content, mode=mode)

    def _remove(self, path: str) -> None:
        """Remove an entry, unless it has been removed together with its folder."""
        parent = path.rpartition("/")[0]
        if parent and parent not in self._folders:
            return
        with self._files.open_parent(path) as (folder, name):
            try:
                os.unlink(name, dir_fd=folder)
            except (IsADirectoryError, PermissionError):
                remove_tree(name, dir_fd=folder)

    def _restore_rights(self, path: str) -> None:
        """Restore the owner's permissions for a folder if a job has removed them."""
        with self._files.open_parent(path) as (folder, name):
            handle = os.open(name, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fchmod(handle, st.S_IMODE(os.fstat(handle).st_mode) | OWNER_RIGHTS)
            finally:
                os.close(handle)


def _folders(files: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in files}:
        above = folder
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def _reset(slot: SlotCopy, place: Path) -> None:
    """Reset a slot to the base, or recreate the slot if the reset fails, for example because a
    folder is unreadable.
    """
    if place.is_symlink() or not place.is_dir():
        _clear(place)
    with suppress(HostError, OSError):
        place.chmod(0o700)
        slot.reset()
        return
    try:
        _clear(place)
        slot.reset()
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


def _save(path: Path, index: dict[str, ScannedFile]) -> None:
    """Save the scan of a slot, ignoring errors. Without a saved scan, all files are hashed next
    time.
    """
    stored: _Index = (os.fsencode("\0".join(index)), [*index.values()])
    temporary = path.with_suffix(".new")
    with suppress(OSError):
        temporary.write_bytes(msgspec.msgpack.encode(stored))
        temporary.replace(path)
