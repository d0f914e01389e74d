"""Advisory lock on a stream's file, held by its writer and released when the process exits.

The copy of a stream that is written elsewhere has no lock. A file beside it says until when its
writer's lease lasts.
"""

import fcntl
import os
import threading
import time
from pathlib import Path

from remora.errors import StreamLocked
from remora.regular_file import read_regular
from remora.trace.content.private_files import open_read_only

_TRIES, _PAUSE_S = 5, 0.01
_MAX_LEASE = 100  # bytes


def lock_stream(file: int, path: Path) -> None:
    """Lock the open stream. Raises StreamLocked if another process has locked it.

    Retries a few times, because `is_locked` also holds the lock for a short time.
    """
    for attempt in range(_TRIES):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt < _TRIES - 1:
                time.sleep(_PAUSE_S)
        else:
            return
    pid = lock_owner(file)
    who = f"process {pid}" if pid is not None else "another process"
    raise StreamLocked(
        f"{path.name} is locked by {who}", hint="wait until that process finishes, or stop it"
    )


def is_locked(path: Path) -> bool:
    """Return True if a running writer has locked the stream, or if it is the copy of a stream whose
    writer has a lease. Return False if the file cannot be opened.
    """
    if _lease_end(path) > time.time():
        return True
    try:
        file = open_read_only(path)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def note_lease(path: Path, seconds: float) -> None:
    """Record that the writer of a copied stream has a lease for so many seconds."""
    place = _lease_path(path)
    temporary = place.with_name(f"{place.name}-{os.getpid()}-{threading.get_ident()}")
    temporary.write_text(repr(time.time() + seconds))
    temporary.replace(place)


def forget_lease(path: Path) -> None:
    """Record that no writer has a lease on a copied stream."""
    _lease_path(path).unlink(missing_ok=True)


def _lease_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lease")


def _lease_end(path: Path) -> float:
    try:
        return float(read_regular(_lease_path(path), _MAX_LEASE))
    except (OSError, ValueError):
        return 0.0


def lock_owner(file: int) -> int | None:
    """Return the ID of the process that has locked an open file, or None if the system does not
    report it.
    """
    status = os.fstat(file)
    inode = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        table = Path("/proc/locks").read_text()
    except OSError:
        return None
    for line in table.splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK" and words[5] == inode:
            return int(words[4]) if int(words[4]) > 0 else None  # 0: owner is in another container
    return None
