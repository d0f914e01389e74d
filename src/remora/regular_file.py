"""Reader of regular files that never waits, and reads no more than a limit; writer of whole files.

A file of a project may be a pipe, a device or a link to one, and reading it would wait forever.
"""

import errno
import os
import stat as st
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from itertools import takewhile
from pathlib import Path

from remora.text import too_large

_PROJECT_MARKS = (".git", "remora.yaml", "pyproject.toml")
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
READ_NO_FOLLOW = _READ | os.O_NOFOLLOW
"""Flags that open a file for reading, and neither follow a link nor wait for a pipe."""
FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags that open a folder only to reach what is in it."""


def read_regular(path: Path, limit: int) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    Raises OSError with EFBIG if the file is larger, and whatever `open_regular` raises.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        # a file that is too large is not read
        content = file.read(limit + 1) if size <= limit else b""
        if max(size, len(content)) > limit:
            raise OSError(errno.EFBIG, too_large(max(size, len(content)), limit))
        return content


def open_regular(path: Path, *, within: Path | None = None) -> BufferedReader:
    """Open a regular file for reading.

    Never waits for a pipe, and never opens a device. Links are followed. With `within`, they may not
    lead out of that folder. Raises OSError with EINVAL if the path is not a regular file, with EXDEV
    if it is outside `within`, and with another number if the file cannot be opened.
    """
    _check_regular(path.stat())  # opening a device can have effects
    file = os.open(path, _READ) if within is None else _open_within(path, within)
    try:
        _check_regular(os.fstat(file))
        return os.fdopen(file, "rb")
    except OSError:
        os.close(file)
        raise


@contextmanager
def closing_fd(descriptor: int) -> Iterator[int]:
    """Yield a file descriptor, and close it when the block exits."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def replace_file(
    path: Path | str, content: bytes, *, mode: int = 0o600, folder: int | None = None
) -> None:
    """Write a file in place of the one at `path`, of which no reader sees a part.

    The user's umask limits `mode`. `path` is relative to the opened `folder`, if there is one.
    Raises OSError, and then changes nothing.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}-{os.urandom(4).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        file = os.open(temporary, flags, mode, dir_fd=folder)
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
        os.rename(temporary, path, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


def followed(path: Path) -> Path:
    """Return the path that links lead to, whose file may be missing.

    Raises OSError with ELOOP for links in a circle, which `Path.resolve` returns since Python 3.13.
    """
    real = os.path.realpath(path)
    if os.path.islink(real):  # noqa: PTH114 (`realpath` returns a text)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return Path(real)


@contextmanager
def opened_parent(path: Path, root: Path, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the folder in which a file is to be written, and the name of the file in it.

    With `make`, missing folders are created. Raises OSError if a path in a project leads over a
    link, even one that is made in the meantime, or is not a regular file. The project may have
    planted it, to have another file overwritten. A project is the folder `root`, or one that looks
    like a project. Elsewhere, links, pipes and devices are the user's own.
    """
    whole = Path(os.path.abspath(path))  # noqa: PTH100 (`resolve` would follow links)
    above = [folder for folder in whole.parents if _is_project(folder, root)]
    top = above[-1] if above else None
    for part in takewhile(lambda part: part != top, (whole, *whole.parents) if top else ()):
        if part.is_symlink():
            raise OSError(errno.ELOOP, "a link in the project, which is not followed", str(part))
        if part == whole and part.exists() and not part.is_dir():
            _check_regular(part.lstat())
    whole = whole if top else followed(whole)
    top = top or whole.parent
    if make:
        whole.parent.mkdir(parents=True, exist_ok=True)
    with closing_fd(os.open(top, FOLDER & ~os.O_NOFOLLOW)) as folder:
        inner = open_by_parts(folder, os.fsencode(whole.parent.relative_to(top)), FOLDER)
    with closing_fd(inner):
        yield inner, whole.name


def _is_project(folder: Path, root: Path) -> bool:
    is_marked = any((folder / mark).exists() for mark in _PROJECT_MARKS)
    return is_marked or (folder.exists() and folder.samefile(root))


def _check_regular(status: os.stat_result) -> None:
    if not st.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")


def _open_within(path: Path, within: Path) -> int:
    top, real = os.path.realpath(within), Path(os.path.realpath(path))
    if not real.is_relative_to(top):
        raise OSError(errno.EXDEV, "a link to a file outside the project")
    with closing_fd(os.open(top, FOLDER)) as folder:
        # a link that is created in the meantime is not followed
        return open_by_parts(folder, os.fsencode(real.relative_to(top)), READ_NO_FOLLOW)


def open_by_parts(root: int, rel: bytes, flags: int) -> int:
    """Open a path one component at a time, without following links."""
    handle = root
    parts = rel.split(b"/")
    try:
        for count, part in enumerate(parts, 1):
            deeper = os.open(part, flags if count == len(parts) else FOLDER, dir_fd=handle)
            if handle != root:
                os.close(handle)
            handle = deeper
    except OSError:
        if handle != root:
            os.close(handle)
        raise
    return handle
