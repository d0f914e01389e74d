"""Renames within a folder that never overwrite a file, nor a file that another process writes."""

import errno
import fcntl
import hashlib
import os
import signal
import stat as st
from contextlib import suppress

from remora.regular_file import READ_NO_FOLLOW, closing_fd
from remora.workspaces.file_syscalls import rename_exchange, rename_noreplace

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
NOT_REGULAR = "link or special file"
OPEN_FOR_WRITING = "file that a program has open for writing"
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}
"""Errors of a system or file system that does not support a kind of rename."""
_NO_FILE = {errno.ELOOP, errno.ENXIO}
"""Errors of opening a link, or a pipe or socket."""


def digest_at(folder: int, name: bytes) -> str | None:
    """Return a file's SHA-256, `NOT_REGULAR` if it is not a regular file, or None if it is
    missing.
    """
    try:
        if not st.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return NOT_REGULAR
        handle = os.open(name, READ_NO_FOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in _NO_FILE:  # it has been replaced since the check
            return NOT_REGULAR
        raise
    if not st.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return NOT_REGULAR
    with os.fdopen(handle, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_unless_open(folder: int, name: bytes) -> str | None:
    """Return the result of `digest_at`, or `OPEN_FOR_WRITING` if another program may still write to
    the file.
    """
    return OPEN_FOR_WRITING if _is_open_for_writing(folder, name) else digest_at(folder, name)


def swap_names(folder: int, name: bytes, other: bytes) -> None:
    """Swap two names. The swap is atomic if the file system supports this. Raises OSError."""
    try:
        rename_exchange(folder, name, other)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        swap_by_renames(folder, name, other)


def swap_by_renames(folder: int, name: bytes, other: bytes) -> None:
    """Swap two names with three renames. After an interruption, call `repair_swap`. Raises
    OSError.
    """
    rename_to_free(folder, name, other + b"~")
    rename_to_free(folder, other, name)
    rename_to_free(folder, other + b"~", other)


def repair_swap(folder: int, name: bytes, other: bytes) -> None:
    """Finish or undo an interrupted `swap_by_renames`."""
    spare = other + b"~"
    if digest_at(folder, spare) is None:
        return
    if is_same_file(folder, spare, name) or is_same_file(folder, spare, other):
        unlink_if_exists(folder, spare)
        return
    if is_same_file(folder, name, other):
        unlink_if_exists(folder, other)
    if digest_at(folder, name) is None:
        rename_to_free(folder, spare, name)
    elif digest_at(folder, other) is None:
        rename_to_free(folder, spare, other)


def rename_to_free(folder: int, name: bytes, free: bytes) -> None:
    """Rename a file without overwriting an existing one.

    The rename takes two steps if renameat2 is not available. Raises FileExistsError if the name is
    taken, and OSError if the rename fails.
    """
    if not is_same_file(folder, name, free):
        try:
            rename_noreplace(folder, name, free)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
            os.link(name, free, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        else:
            return
    os.unlink(name, dir_fd=folder)


def is_same_file(folder: int, name: bytes, other: bytes) -> bool:
    """Return True if both names refer to the same file.

    An interrupted two-step `rename_to_free` leaves two such names behind.
    """
    with suppress(FileNotFoundError):
        statuses = (os.stat(n, dir_fd=folder, follow_symlinks=False) for n in (name, other))
        return os.path.samestat(*statuses)
    return False


def unlink_if_exists(folder: int, name: bytes) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def sync_folder(folder: int) -> None:
    """Sync the renames in a folder to disk."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with closing_fd(os.open(".", flags, dir_fd=folder)) as handle:
        os.fsync(handle)


def _is_open_for_writing(folder: int, name: bytes) -> bool:
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
        handle = os.open(name, READ_NO_FOLLOW, dir_fd=folder)
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
