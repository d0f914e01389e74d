"""Whether somebody is about to write into a file: the kernel knows who has it open."""

import errno
import fcntl
import os
import signal
from contextlib import suppress

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_open_for_writing(folder: int, name: bytes) -> bool:
    """Whether any process has a regular file open for writing, or mapped so; False where the
    system cannot tell.

    A lease for reading is only granted on a file that nobody has open for writing.
    """
    if _lease(folder, name) is not False:
        return False
    trial = name + b"-trial"  # a network file system may refuse leases for reasons of its own
    try:
        os.close(os.open(trial, _NEW, 0o600, dir_fd=folder))
        return _lease(folder, trial) is True
    except OSError:
        return True
    finally:
        with suppress(OSError):
            os.unlink(trial, dir_fd=folder)


def _lease(folder: int, name: bytes) -> bool | None:
    """Whether a lease was granted, for a moment; None where none can be asked for."""
    if not hasattr(fcntl, "F_SETLEASE"):  # not Linux
        return None
    try:
        handle = os.open(name, _READ, dir_fd=folder)
    except OSError:
        return None
    try:
        # who opens it right now waits until we close it; the usual signal would end this process
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    else:
        return True
    finally:
        os.close(handle)
