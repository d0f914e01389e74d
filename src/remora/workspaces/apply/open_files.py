"""Lease-based detection of files that another process has open for writing."""

import errno
import fcntl
import os
import signal
from contextlib import suppress

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_open_for_writing(folder: int, name: bytes) -> bool:
    """Return True if any process has the file open or mapped for writing.

    The kernel grants a read lease only if no process has the file open for writing. Returns False
    if the system does not support leases.
    """
    if _lease(folder, name) is not False:
        return False
    trial = name + b"-trial"  # a network file system may refuse all leases
    try:
        os.close(os.open(trial, _NEW, 0o600, dir_fd=folder))
        return _lease(folder, trial) is True
    except OSError:
        return True
    finally:
        with suppress(OSError):
            os.unlink(trial, dir_fd=folder)


def _lease(folder: int, name: bytes) -> bool | None:
    if not hasattr(fcntl, "F_SETLEASE"):  # not Linux
        return None
    try:
        handle = os.open(name, _READ, dir_fd=folder)
    except OSError:
        return None
    try:
        # if a process opens the file, it waits, and the kernel signals this process; the default
        # signal would end it
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    else:
        return True
    finally:
        os.close(handle)
