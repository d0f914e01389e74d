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
from remora.workspaces.file_syscalls import openat2
from remora.workspaces.rooted_files import open_by_parts

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

    def __init__(self, root: int) -> None:
        self._root = root
        self._last = "", root
        """The folder of the file that was read last: mostly the next one's, too."""

    def read(self, path: str) -> Content:
        """The regular file at a raw path; a file that changes meanwhile is read again.

        Raises OSError: not there, not readable, too large, a link.
        """
        data = b""
        for _ in range(_TRIES):
            began = time.time_ns()
            file = self._open(path)
            try:
                before = os.fstat(file)
                _check(before)
                data = os.read(file, before.st_size + 1)
                stamp, after = stamp_of(before), stamp_of(os.fstat(file))
            finally:
                os.close(file)
            if after == stamp and len(data) == stamp.size:
                return Content(data, stamp if _proves(stamp, began) else None)
        return Content(data, None)

    def close(self) -> None:
        """Let go of the folder that was read last."""
        _, folder = self._last
        if folder != self._root:
            os.close(folder)
        self._last = "", self._root

    def _open(self, path: str) -> int:
        above, _, name = path.rpartition("/")
        if above != self._last[0]:
            self.close()
            if above:
                self._last = above, _open(self._root, os.fsencode(above), _FOLDER)
        return os.open(name, _READ, dir_fd=self._last[1])


@contextmanager
def reading(root: Path) -> Iterator[Reader]:
    """A reader of the files beneath `root`. Raises OSError where there is no such folder."""
    folder = os.open(root, _FOLDER)
    reader = Reader(folder)
    try:
        yield reader
    finally:
        reader.close()
        os.close(folder)


def _open(root: int, path: bytes, flags: int) -> int:
    try:
        return openat2(root, path, flags)
    except OSError as error:
        if error.errno not in _NO_SUCH_CALL:
            raise
    return open_by_parts(root, path, flags | os.O_NOFOLLOW)


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
