"""Owner lock of a database. The lock file contains the owner's process id and PID namespace.

The lock is released when the owner exits.
"""

import fcntl
import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

from remora.config.user_folders import make_private
from remora.errors import DiskError, HubLocked, OutsideError, undo_on_error
from remora.facilities import proc_path
from remora.regular_file import READ_NO_FOLLOW, closing_fd

_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_WORDS = " remora hub\n"
_OURS = re.compile(rb"(\d{1,20}) (\d{1,20}) remora hub\n")
_LONGEST = 64
_TRIES, _PAUSE_S, _PATIENCE_S = 3, 0.005, 1.0


class OwnerLock:
    """A held lock. It is released by `close`, or by the kernel when the process exits."""

    def __init__(self, path: Path) -> None:
        """Acquire the lock.

        Raises HubLocked if another process holds it, OutsideError if the file is not a lock, and
        DiskError if the file cannot be used.
        """
        self._path = path
        try:
            make_private(path.parent)
            self._file = os.open(path, _FILE, 0o600)
            with undo_on_error(os.close, self._file):
                self._place = _place(self._lock_file())
        except OSError as error:
            raise DiskError(f"{path}: {error.strerror or error}") from error

    def is_lost(self) -> bool:
        """Return True if the lock file was deleted or replaced.

        In that case, other processes do not see this lock.
        """
        try:
            return _place(self._path.lstat()) != self._place
        except OSError:
            return True

    def close(self) -> None:
        """Release the lock. The file is kept, because a waiting process may have it open."""
        os.close(self._file)

    def _lock_file(self) -> os.stat_result:
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode):
            raise OutsideError(
                f"{self._path} is not a regular file", hint="choose another database with --db"
            )
        self._acquire()
        written = os.pread(self._file, _LONGEST, 0)
        if written and not _OURS.fullmatch(written):
            raise OutsideError(
                f"{self._path} is not a Hub lock file", hint="choose another database with --db"
            )
        os.fchmod(self._file, 0o600)
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()} {_namespace()}{_WORDS}".encode(), 0)
        return status

    def _acquire(self) -> None:
        """Acquire the lock.

        Retry for a moment, because `owner` and killed processes may hold the lock briefly.
        """
        began, tries = time.monotonic(), 0
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                tries += 1
                pid = _written_pid(self._file)
                is_held = pid is not None and _is_alive(pid) and tries >= _TRIES
                if is_held or time.monotonic() - began > _PATIENCE_S:
                    raise _locked_error(self._path, pid) from error
                time.sleep(_PAUSE_S)
            else:
                return


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's process
        pass
    return True


def lock_of(db: Path) -> Path:
    """Return the path of the writer's lock file. The file remains after the writer exits."""
    return db.with_name(f"{db.name}.lock")


def is_lock(path: Path) -> bool:
    """Return True if a Hub process has ever held the lock at `path`."""
    with suppress(OSError), closing_fd(os.open(path, READ_NO_FOLLOW)) as file:
        return os.read(file, _LONGEST).endswith(_WORDS.encode())
    return False


def owner(path: Path) -> int | None:
    """Return the process id of the lock's owner, or 0 if the id is unknown here.

    Returns None if no process holds the lock. Processes that call this do not count as its owner.
    """
    with suppress(OSError), closing_fd(os.open(path, READ_NO_FOLLOW)) as file:
        pid = _written_pid(file)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return pid if pid is not None and _is_alive(pid) else 0
    return None


def _locked_error(path: Path, pid: int | None) -> HubLocked:
    who = f"process {pid}" if pid is not None else "another process"
    return HubLocked(
        f"{path.parent}: the Hub's database is being written by {who}",
        hint="use the running daemon, or stop it with `remora hub stop`",
    )


def _written_pid(file: int) -> int | None:
    """Return the owner's process id, or None if it is one of another container."""
    written = _OURS.fullmatch(os.pread(file, _LONGEST, 0))
    if written is None or int(written[2]) != _namespace():
        return None
    return int(written[1])


def _namespace() -> int:
    """Return the number of this process's PID namespace, or 0 where there are none."""
    try:
        return proc_path("self/ns/pid").stat().st_ino
    except OSError:
        return 0


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
