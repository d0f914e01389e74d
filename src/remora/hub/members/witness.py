"""Whether what decides membership from outside is still what it was when it was last looked at."""

import os
import re
import stat as st
import time
from hashlib import sha256
from pathlib import Path

from remora.hub.stamp import Stamp, racy, stamp_of

_GITFILE = re.compile(rb"gitdir: ([^\n]+)\n*")
_HEAD = re.compile(rb"ref:\s*refs/.*|[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?\s*", re.DOTALL)
_MOST = 1 << 20


class Witness:
    """Remembers a file's content, or that there is none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp, self._racy = self._look()
        self._digest = self._read()

    def moved(self) -> bool:
        """Whether the content differs from what it was at the last call, or at the beginning."""
        stamp, young = self._look()
        if stamp == self._stamp and not self._racy:
            return False
        digest = self._read()
        moved = digest != self._digest
        self._stamp, self._racy, self._digest = stamp, young, digest
        return moved

    def _look(self) -> tuple[Stamp | None, bool]:
        now = time.time_ns()  # before the look: what changes between the two counts as young
        try:
            stamp = stamp_of(os.stat(self._path))  # noqa: PTH116 (twice as quick, asked each time)
        except OSError:
            return None, False
        return stamp, racy(stamp, now)

    def _read(self) -> bytes | None:
        try:
            return sha256(self._path.read_bytes()).digest()
        except OSError:
            return None


def is_repository(folder: Path) -> bool:
    """Whether git takes `folder` for a work tree of another repository, and looks no further."""
    git = folder / ".git"
    try:
        mode = git.stat().st_mode
        if not st.S_ISREG(mode):
            return _is_git_folder(git)
        with git.open("rb") as file:
            named = _GITFILE.fullmatch(file.read(_MOST))
    except FileNotFoundError:
        return False
    except OSError:  # there is one, but it cannot be read
        return True
    return named is not None and _is_git_folder(folder / os.fsdecode(named[1]))


def _is_git_folder(git: Path) -> bool:
    try:
        shared = git / os.fsdecode((git / "commondir").read_bytes().rstrip(b"\n"))
    except OSError:
        shared = git
    return _is_head(git / "HEAD") and all(
        os.access(shared / name, os.X_OK) for name in ("objects", "refs")
    )


def _is_head(head: Path) -> bool:
    try:
        if head.is_symlink():
            return str(head.readlink()).startswith("refs/")
        with head.open("rb") as file:
            return _HEAD.fullmatch(file.read(255)) is not None
    except OSError:
        return False


def dot_git(place: Path) -> tuple[int, int, int] | None:
    """What tells one `.git` from another: kind, inode, owner."""
    try:
        about = os.lstat(f"{place}/.git")
    except OSError:
        return None
    return about.st_mode, about.st_ino, about.st_uid


def repository_at(place: Path) -> tuple[tuple[int, int, int], bool] | None:
    """The `.git` of a folder, and whether git would take it."""
    found = dot_git(place)
    return None if found is None else (found, is_repository(place))
