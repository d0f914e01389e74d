"""Private folders (mode 0700) and files (mode 0600), opened without following links."""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from remora.errors import DiskError
from remora.regular_file import closing_fd

FOLDER_MODE, FILE_MODE = 0o700, 0o600
"""Permissions of the owner only."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_LINKED = {errno.ELOOP, errno.ENOTDIR}
"""Errors of a path that is a link, or of another type than expected."""


@contextmanager
def disk_errors(path: Path | str) -> Iterator[None]:
    """Convert an OSError raised in the block to a DiskError whose message starts with `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in _LINKED:
            what, hint = "is a link or the wrong type of file", "move it away and try again"
        else:
            what, hint = error.strerror or str(error), "check its permissions and the disk"
        raise DiskError(f"{os.fspath(path)}: {what}", hint=hint) from error


def open_folder(path: Path) -> int:
    """Open an existing folder. The last component of `path` must not be a link."""
    return os.open(path, _FOLDER)


def open_subfolder(parent: int, name: str, *, make: bool = False, sync: bool = True) -> int:
    """Open the folder `name` in `parent`.

    With `make`, create the folder if it is missing, and make it private. With `sync`, also sync
    `parent` after creating the folder.
    """
    if not make:
        return os.open(name, _FOLDER, dir_fd=parent)
    with suppress(FileExistsError):
        os.mkdir(name, FOLDER_MODE, dir_fd=parent)
        os.chmod(name, FOLDER_MODE, dir_fd=parent)  # the umask may have removed bits
        if sync:
            os.fsync(parent)
    folder = os.open(name, _FOLDER, dir_fd=parent)
    _make_private(folder, FOLDER_MODE)
    return folder


@contextmanager
def open_inner_folder(parent: Path, name: str) -> Iterator[int]:
    """Open the folder `name` in `parent`. Neither may be a link. Raises OSError."""
    with closing_fd(open_folder(parent)) as top, closing_fd(open_subfolder(top, name)) as folder:
        yield folder


def open_file(name: str, flags: int, *, folder: int) -> int:
    """Open a regular file. If it is opened for writing, make it private.

    Raises OSError. The error is ELOOP if `name` is not a regular file.
    """
    file = os.open(name, flags | _FILE, FILE_MODE, dir_fd=folder)
    return _check_file(file, private=bool(flags & (os.O_WRONLY | os.O_RDWR)))


def open_read_only(path: Path) -> int:
    """Open the regular file at `path` for reading. The last component must not be a link."""
    return _check_file(os.open(path, os.O_RDONLY | _FILE), private=False)


@contextmanager
def new_file(name: str, pieces: Iterable[bytes], folder: int) -> Iterator[tuple[str, int]]:
    """Write a file that is to take the place of `name`, and yield its own name and its descriptor.

    The file is removed at the end of the block unless it was renamed. Raises OSError.
    """
    temporary = f".{name}-{os.urandom(4).hex()}~"
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
    with closing_fd(open_file(temporary, flags, folder=folder)) as file:
        try:
            for piece in pieces:
                write_all(file, piece)
            yield temporary, file
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)


def write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def sync_data(file: int) -> None:
    """Sync a file's content to disk, so that it survives a power failure.

    Timestamps are synced only if the operating system cannot sync the content alone.
    """
    getattr(os, "fdatasync", os.fsync)(file)


def sync_folder(path: Path) -> None:
    """Sync a folder's entries to disk, so that they survive a power failure. Raises OSError."""
    with closing_fd(open_folder(path)) as folder:
        os.fsync(folder)


def drop_page_cache(file: int) -> None:
    """Drop a file from the page cache. After a failed sync, the cache may hold data that is not on
    disk."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def _check_file(file: int, *, private: bool) -> int:
    with ExitStack() as on_failure:
        on_failure.callback(os.close, file)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.ELOOP, "not a regular file")
        if private:
            _make_private(file, FILE_MODE)
        on_failure.pop_all()
    return file


def _make_private(descriptor: int, mode: int) -> None:
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        os.fchmod(descriptor, mode)
