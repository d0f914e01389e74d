"""A file of the project read whole, with a Stamp that belongs to exactly these bytes."""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from remora.hub.stamp import Stamp, racy, stamp_of
from remora.workspaces.beneath import walk_open
from remora.workspaces.syscalls import openat2

MOST = 64 * 1024 * 1024
"""Bytes of a file that is read; a larger one is no source."""
_TRIES = 5
_TICK_NS = 100_000_000
"""Several times the longest tick of a kernel whose file systems count in nanoseconds."""
_COARSE_NS = 10_000_000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NO_SUCH_CALL = {errno.ENOSYS, errno.EPERM, errno.EAGAIN}
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


class Content(NamedTuple):
    """`stamp` is None where it proves nothing: the file is young, or changes all the time."""

    data: bytes
    stamp: Stamp | None


class Reader:
    """Reads files beneath one folder, through no symbolic link."""

    def __init__(self, folder: int) -> None:
        self._folder = folder

    def read(self, path: str) -> Content:
        """The regular file at a raw path; a file that changes meanwhile is read again.

        Raises OSError: not there, not readable, too large, a link.
        """
        data = b""
        for _ in range(_TRIES):
            began = time.time_ns()
            file = _open(self._folder, os.fsencode(path))
            try:
                before = os.fstat(file)
                _check(before)
                data = os.read(file, before.st_size + 1)
                after = stamp_of(os.fstat(file))
            finally:
                os.close(file)
            if after == stamp_of(before) and len(data) == after.size:
                return Content(data, after if _proves(after, began) else None)
        return Content(data, None)


@contextmanager
def reading(root: Path) -> Iterator[Reader]:
    """A reader of the files beneath `root`. Raises OSError where there is no such folder."""
    folder = os.open(root, _FOLDER)
    try:
        yield Reader(folder)
    finally:
        os.close(folder)


def _open(folder: int, path: bytes) -> int:
    try:
        return openat2(folder, path, _READ)
    except OSError as error:
        if error.errno not in _NO_SUCH_CALL:
            raise
    return walk_open(folder, path, _READ)


def _proves(stamp: Stamp, now_ns: int) -> bool:
    """Whether every write after `now_ns`, when the file was read, gives it another Stamp."""
    if stamp.ctime_ns % _COARSE_NS == 0:  # a file system that counts in seconds, perhaps
        return not racy(stamp, now_ns)
    return max(stamp.mtime_ns, stamp.ctime_ns) < now_ns - _TICK_NS


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    if status.st_size > MOST:
        raise OSError(errno.EFBIG, f"larger than {MOST} bytes")
