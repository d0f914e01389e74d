"""Who may write a hub's database: a lock of the system on a file beside it, gone with its owner."""

import fcntl
import os
import stat
from pathlib import Path

from remora.config.folders import make_private
from remora.errors import HubLocked

_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_LONGEST_PID = 20


def lock_of(db: Path) -> Path:
    """Where the lock of a database is; it stays when its owner ends."""
    return db.with_name(f"{db.name}.lock")


def take(path: Path) -> int:
    """The lock's open descriptor; closing it gives the lock back. Makes the folder, if need be.

    Raises HubLocked with the owner's process id, and OSError.
    """
    make_private(path.parent)
    file = os.open(path, _FILE, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise IsADirectoryError(f"{path} is no regular file")
        os.fchmod(file, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
    except BlockingIOError as error:
        pid = _owner(file)
        os.close(file)
        who = f"process {pid}" if pid is not None else "another process"
        raise HubLocked(
            f"{path.parent}: the Hub's database is being written by {who}",
            pid=pid,
            hint="ask the running hub, or end it with `remora hub stop`",
        ) from error
    except OSError:
        os.close(file)
        raise
    return file


def _owner(file: int) -> int | None:
    written = os.pread(file, _LONGEST_PID, 0)
    return int(written) if written.isdigit() else None
