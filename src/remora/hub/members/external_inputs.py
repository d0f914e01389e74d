"""Change detection for files outside the watched tree that affect membership."""

import os
import re
import stat as st
import time
from hashlib import file_digest
from pathlib import Path

from remora.hub.file_stamp import Stamp, is_racy, stamp_of
from remora.regular_file import open_regular

_GITFILE = re.compile(rb"gitdir: ([^\n\0]+)\n*")
_HEAD = re.compile(rb"ref:\s*refs/.*|[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?\s*", re.DOTALL)
_MAX_READ = 1 << 20
_MAX_HASHED = 1 << 28
"""Bytes; larger files, such as an index of millions of entries, are compared by stamp only."""


class RememberedFile:
    """Remembers the content of a file, or that the file does not exist."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp, self._racy = self._read_stamp()
        self._digest = self._read_digest(self._stamp)

    def has_moved(self) -> bool:
        """Return True if the content has changed since the last call or since creation."""
        stamp, young = self._read_stamp()
        if stamp == self._stamp and not self._racy:
            return False
        digest = self._read_digest(stamp)
        moved = digest != self._digest
        self._stamp, self._racy, self._digest = stamp, young, digest
        return moved

    def _read_stamp(self) -> tuple[Stamp | None, bool]:
        now = time.time_ns()  # before stat: a change between the two must count as recent
        try:
            stamp = stamp_of(os.stat(self._path))  # noqa: PTH116 (twice as fast, called often)
        except OSError:
            return None, False
        return stamp, is_racy(stamp, now)

    def _read_digest(self, stamp: Stamp | None) -> bytes | None:
        try:
            with open_regular(self._path) as file:
                if os.fstat(file.fileno()).st_size > _MAX_HASHED:
                    return repr(stamp).encode()
                return file_digest(file, "sha256").digest()
        except OSError:
            return None


def is_repository(folder: Path) -> bool:
    """Return True if git treats `folder` as the work tree of another repository."""
    git = folder / ".git"
    try:
        mode = git.stat().st_mode
        if not st.S_ISREG(mode):
            return _is_git_folder(git)
        with open_regular(git) as file:
            named = _GITFILE.fullmatch(file.read(_MAX_READ))
    except FileNotFoundError:
        return False
    except OSError:  # it exists but cannot be read
        return True
    return named is not None and _is_git_folder(folder / os.fsdecode(named[1]))


def _is_git_folder(git: Path) -> bool:
    try:
        with open_regular(git / "commondir") as file:
            shared = git / os.fsdecode(file.read(_MAX_READ).rstrip(b"\n"))
    except OSError:
        shared = git
    if "\0" in str(shared):  # not a valid path
        return False
    return _is_head(git / "HEAD") and all(
        os.access(shared / name, os.X_OK) for name in ("objects", "refs")
    )


def _is_head(head: Path) -> bool:
    try:
        if head.is_symlink():
            return str(head.readlink()).startswith("refs/")
        with open_regular(head) as file:
            return _HEAD.fullmatch(file.read(255)) is not None
    except OSError:
        return False


def dot_git(place: Path) -> tuple[int, int, int] | None:
    """Return the mode, inode and owner of a folder's `.git`, or None if it does not exist."""
    try:
        about = os.lstat(f"{place}/.git")
    except OSError:
        return None
    return about.st_mode, about.st_ino, about.st_uid


def repository_at(place: Path) -> tuple[tuple[int, int, int], bool] | None:
    """Return a folder's `dot_git`, and whether git accepts the folder as a repository.

    Returns None if the folder has no `.git`.
    """
    found = dot_git(place)
    return None if found is None else (found, is_repository(place))
