"""Whose a hub's database is: a lock that says which process holds it and ends with that process."""

import fcntl
import os
import stat
from pathlib import Path

from remora.config import make_private
from remora.errors import DiskError, HubLocked

_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_LONGEST_PID = 20


class Ownership:
    """A held lock; let go by `close`, and by the kernel however we end."""

    def __init__(self, path: Path) -> None:
        """Take it, and make its folder if need be. Raises HubLocked, which names the process that
        has it, and DiskError."""
        self._path = path
        try:
            make_private(path.parent)
            self._file = os.open(path, _FILE, 0o600)
            try:
                self._place = _place(self._hold())
            except BaseException:
                os.close(self._file)
                raise
        except OSError as error:
            raise DiskError(f"{path}: {error.strerror or error}") from error

    def lost(self) -> bool:
        """Whether the path leads elsewhere now: another process would not see ours."""
        try:
            return _place(self._path.lstat()) != self._place
        except OSError:
            return True

    def close(self) -> None:
        """Let go. The file stays: who waits for it must not be left with one that nobody sees."""
        os.close(self._file)

    def _hold(self) -> os.stat_result:
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode):
            raise IsADirectoryError(f"{self._path} is no regular file")
        os.fchmod(self._file, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _locked(self._path, _written_pid(self._file)) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, str(os.getpid()).encode(), 0)
        return status


def lock_of(db: Path) -> Path:
    """Where the lock of a database's writer is; it stays when its owner ends."""
    return db.with_name(f"{db.name}.lock")


def owner(path: Path) -> int | None:
    """The process that holds the lock at `path`; None if there is none, 0 if it cannot be told."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _written_pid(file) or 0
    finally:
        os.close(file)
    return None


def _locked(path: Path, pid: int | None) -> HubLocked:
    who = f"process {pid}" if pid is not None else "another process"
    return HubLocked(
        f"{path.parent}: the Hub's database is being written by {who}",
        pid=pid,
        hint="ask the running hub, or end it with `remora hub stop`",
    )


def _written_pid(file: int) -> int | None:
    written = os.pread(file, _LONGEST_PID, 0)
    return int(written) if written.isdigit() else None


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
