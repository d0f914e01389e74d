"""Reading and analysis of whole project files up to a size limit."""

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from remora.code.file_analysis import MODULE_LINK, read_facts
from remora.code.file_facts import PARTLY_READ, FileFacts
from remora.errors import DiskError
from remora.forks import map_in_processes
from remora.hub.file_limits import FILE_LIMIT, too_large
from remora.hub.file_stamp import Stamp, is_racy, stamp_of
from remora.regular_file import READ_NO_FOLLOW, closing_fd, open_by_parts
from remora.workspaces.file_syscalls import openat2

_TRIES = 5
_TICK_NS = 100_000_000
"""Nanoseconds: several times the longest kernel tick, for file systems with fine timestamps."""
_COARSE_NS = 10_000_000
_NO_SUCH_CALL = {errno.ENOSYS, errno.EPERM, errno.EAGAIN}
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


class Content(NamedTuple):
    """Content of a file.

    `stamp` is None if the file was skipped, changed recently or keeps changing.
    """

    data: bytes
    stamp: Stamp | None
    skipped: str = ""
    """Reason why the file was not read, or an empty string if it was read."""

    @property
    def file_hash(self) -> str:
        """SHA-256 hash of the bytes.

        A skipped file has the reason for skipping it instead, which never equals a hash.
        """
        return self.skipped or sha256(self.data).hexdigest()


def facts_of(path: str, content: Content) -> FileFacts:
    """Return the facts of the file at a raw path. A skipped file has no nodes."""
    if content.skipped:
        return facts_without_nodes(path, content.file_hash, content.skipped)
    return read_facts(path, content.data)


def facts_without_nodes(path: str, file_hash: str, detail: str) -> FileFacts:
    """Return facts for a file that was not analyzed. `detail` is the reason."""
    empty = read_facts(path, b"")
    lowered = msgspec.structs.replace(empty.lowered, names=(PARTLY_READ,))
    return msgspec.structs.replace(
        empty, file_hash=file_hash, partial=True, detail=detail, nodes=(), lowered=lowered
    )


class Reader:
    """Reads files in one folder and its subfolders, and of a symbolic link only its text."""

    def __init__(self, root: int, limit: int) -> None:
        self._root = root
        self._limit = limit
        self._last = "", root
        """Path and descriptor of the last file's folder; the next file is usually in it too."""

    def read(self, path: str) -> Content:
        """Read the file or link at a raw path.

        The read is repeated if the file changes in the meantime. Files over the size limit are
        skipped.
        """
        try:
            return self._read_file(path)
        except OSError as error:
            folder, _, name = path.rpartition("/")
            if error.errno != errno.ELOOP or folder != self._last[0]:
                raise
        began = time.time_ns()
        stamp = stamp_of(os.lstat(name, dir_fd=self._last[1]))
        text = os.readlink(os.fsencode(name), dir_fd=self._last[1])
        is_current = len(text) == stamp.size and _is_reliable(stamp, began)
        is_module = MODULE_LINK.fullmatch(text) is not None
        return Content(text if is_module else b"", stamp if is_current else None)

    def _read_file(self, path: str) -> Content:
        data = b""
        for _ in range(_TRIES):
            began = time.time_ns()
            with closing_fd(self._open(path)) as file:
                before = os.fstat(file)
                if not stat.S_ISREG(before.st_mode):
                    raise OSError(errno.EINVAL, "not a regular file")
                if before.st_size > self._limit:
                    return Content(b"", None, too_large(self._limit))
                data = os.read(file, before.st_size + 1)
                stamp, after = stamp_of(before), stamp_of(os.fstat(file))
            if after == stamp and len(data) == stamp.size:
                return Content(data, stamp if _is_reliable(stamp, began) else None)
        return Content(data, None)

    def close(self) -> None:
        _, folder = self._last
        if folder != self._root:
            os.close(folder)
        self._last = "", self._root

    def _open(self, path: str) -> int:
        folder, _, name = path.rpartition("/")
        if folder != self._last[0]:
            self.close()
            if folder:
                self._last = folder, _open(self._root, os.fsencode(folder), _FOLDER)
        return os.open(name, READ_NO_FOLLOW, dir_fd=self._last[1])


@contextmanager
def open_reader(root: Path, limit: int) -> Iterator[Reader]:
    """Open a reader for files below `root`.

    The reader skips files of more than `limit` bytes. Raises DiskError if `root` cannot be opened.
    """
    try:
        opened = os.open(root, _FOLDER)
    except OSError as error:
        raise DiskError(f"{root}: {error.strerror or error}") from error
    with closing_fd(opened) as folder, closing(Reader(folder, limit)) as reader:
        yield reader


def read_all(root: Path, paths: Iterable[str], *, limit: int = FILE_LIMIT) -> dict[str, FileFacts]:
    """Read and analyze files. Return their facts, keyed by path as spelled in node keys.

    Files of more than `limit` bytes have no nodes. Unreadable files are left out. Raises DiskError
    if `root` cannot be read.
    """

    def read(part: Sequence[str]) -> list[FileFacts | None]:
        found: list[FileFacts | None] = [None] * len(part)
        with open_reader(root, limit) as reader:
            for number, path in enumerate(part):
                with suppress(OSError):
                    found[number] = facts_of(path, reader.read(path))
        return found

    return {facts.path: facts for facts in map_in_processes(read, sorted(paths)) if facts}


def _open(root: int, path: bytes, flags: int) -> int:
    try:
        return openat2(root, path, flags)
    except OSError as error:
        if error.errno not in _NO_SUCH_CALL:
            raise
    return open_by_parts(root, path, flags | os.O_NOFOLLOW)


def _is_reliable(stamp: Stamp, now_ns: int) -> bool:
    """Return True if every write after the read at `now_ns` will change the Stamp."""
    if stamp.ctime_ns % _COARSE_NS == 0:  # perhaps a file system with timestamps in seconds
        return not is_racy(stamp, now_ns)
    return max(stamp.mtime_ns, stamp.ctime_ns) < now_ns - _TICK_NS
