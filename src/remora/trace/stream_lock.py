"""Advisory lock on a stream's file, held by its writer and released when the process exits.

The copy of a stream that is written elsewhere has no lock. A file beside it says until when its
writer's lease lasts.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from remora.errors import StreamLocked
from remora.facilities import proc_path
from remora.regular_file import closing_fd, read_regular
from remora.trace.content.private_files import new_file, open_read_only

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
    raise StreamLocked(
        f"{path.name} is locked by {lock_owner(file)}",
        hint="wait until that process, such as a `remora review`, finishes, or stop it",
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
    with closing_fd(file):
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def note_lease(name: str, seconds: float, *, folder: int) -> None:
    """Record that the writer of a copied stream, a file in an opened folder, has a lease for so
    many seconds.
    """
    place, end = _lease_name(name), repr(time.time() + seconds).encode()
    with new_file(place, [end], folder) as (temporary, _):
        os.rename(temporary, place, src_dir_fd=folder, dst_dir_fd=folder)


def forget_lease(name: str, *, folder: int) -> None:
    """Record that no writer has a lease on a copied stream, a file in an opened folder."""
    with suppress(FileNotFoundError):
        os.unlink(_lease_name(name), dir_fd=folder)


def _lease_name(name: str) -> str:
    return f".{name}.lease"


def _lease_end(path: Path) -> float:
    try:
        return float(read_regular(path.with_name(_lease_name(path.name)), _MAX_LEASE))
    except (OSError, ValueError):
        return 0.0


def lock_owner(file: int) -> str:
    """Return the process that has locked an open file, or `another process` if it is unknown."""
    status = os.fstat(file)
    inode = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError):
        for line in proc_path("locks").read_text().splitlines():
            words = line.split()
            if len(words) >= 6 and words[1] == "FLOCK" and words[5] == inode and int(words[4]) > 0:
                return f"process {words[4]}"  # 0: owner is in another container
    return "another process"
