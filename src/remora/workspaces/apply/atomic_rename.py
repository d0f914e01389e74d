"""Names swapped, placed and taken within one folder, so that no text is ever overwritten."""

import errno
import hashlib
import os
import stat as st
from contextlib import suppress

from remora.workspaces.apply.open_files import is_open_for_writing
from remora.workspaces.file_syscalls import rename_exchange, rename_noreplace

ODD = "link or special file"
OPEN = "file that somebody has open for writing"
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}
_NO_FILE = {errno.ELOOP, errno.ENXIO}
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def digest_at(folder: int, name: bytes) -> str | None:
    """SHA-256 of a regular file, `ODD` for anything else, None if nothing has this name."""
    try:
        if not st.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return ODD
        handle = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in _NO_FILE:  # it became one meanwhile
            return ODD
        raise
    if not st.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return ODD
    with os.fdopen(handle, "rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def settled_at(folder: int, name: bytes) -> str | None:
    """As `digest_at`, or `OPEN`: what somebody is about to write there is still to come."""
    return OPEN if is_open_for_writing(folder, name) else digest_at(folder, name)


def exchange(folder: int, name: bytes, other: bytes) -> None:
    """Swap two names, in one step where the file system can. Raises OSError."""
    try:
        rename_exchange(folder, name, other)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        exchange_by_renames(folder, name, other)


def exchange_by_renames(folder: int, name: bytes, other: bytes) -> None:
    """Swap two names in three steps that `heal` can finish or undo. Raises OSError."""
    place(folder, name, other + b"~")
    place(folder, other, name)
    place(folder, other + b"~", other)


def heal(folder: int, name: bytes, other: bytes) -> None:
    """Bring a swap by renames that was cut short to its beginning or its end."""
    spare = other + b"~"
    if digest_at(folder, spare) is None:
        return
    if same_file(folder, spare, name) or same_file(folder, spare, other):
        take_away(folder, spare)
        return
    if same_file(folder, name, other):
        take_away(folder, other)
    if digest_at(folder, name) is None:
        place(folder, spare, name)
    elif digest_at(folder, other) is None:
        place(folder, spare, other)


def place(folder: int, name: bytes, free: bytes) -> None:
    """Rename to a name that must be free. Raises OSError, FileExistsError if it is taken.

    Where that takes two steps, a call that was cut short between them is completed by the next.
    """
    if not same_file(folder, name, free):
        try:
            rename_noreplace(folder, name, free)
        except OSError as error:
            if error.errno not in _CANNOT:
                raise
            os.link(name, free, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        else:
            return
    os.unlink(name, dir_fd=folder)


def same_file(folder: int, name: bytes, other: bytes) -> bool:
    """Whether two names stand for one file: a `place` in two steps was cut short."""
    try:
        one = os.stat(name, dir_fd=folder, follow_symlinks=False)
        two = os.stat(other, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(one, two)


def take_away(folder: int, name: bytes) -> None:
    """Remove a name of our own if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def sync_folder(folder: int) -> None:
    """Make the renames in a folder durable."""
    handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
