"""One daemon for each database: a lock that says who it is and ends with its process."""

import fcntl
import os
from pathlib import Path

from remora.config import make_private
from remora.errors import DiskError, HubLocked
from remora.hub.store.ownership import take


class Ownership:
    """The held lock of one database; let go by `close`, and by the kernel however we end."""

    def __init__(self, path: Path, file: int) -> None:
        self._path = path
        self._file = file
        self._inode = os.fstat(file).st_ino

    @classmethod
    def take(cls, path: Path) -> "Ownership | None":
        """None where another process has it. Raises DiskError."""
        try:
            make_private(path.parent)
            return cls(path, take(path))
        except HubLocked:
            return None
        except OSError as error:
            raise DiskError(f"{path}: {error.strerror}") from error

    def lost(self) -> bool:
        """Whether the path leads elsewhere now: a second daemon would not see ours."""
        try:
            return self._path.lstat().st_ino != self._inode
        except OSError:
            return True

    def close(self) -> None:
        """Let go. The file stays: who waits for it must not be left with one that nobody sees."""
        os.close(self._file)


def owner(path: Path) -> int | None:
    """The process that holds the lock at `path`; None if there is none, 0 if it cannot be told."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _holder(file)
    finally:
        os.close(file)


def _holder(file: int) -> int | None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        said = os.pread(file, 32, 0).strip()
        return int(said) if said.isdigit() else 0
    return None
