"""Locked stream file, written with one `write(2)` call per line."""

import os
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from remora.errors import DiskError, StreamError, StreamWriteFailed, WriterReplaced
from remora.memory.events import Recovered
from remora.regular_file import closing_fd
from remora.trace.content.private_files import (
    disk_errors,
    drop_page_cache,
    open_folder,
    sync_data,
    sync_folder,
)
from remora.trace.stream.compression import open_for_writing
from remora.trace.stream.recovery import StreamContents, check_stream, quarantine_tail


class LineFile:
    """The open, locked file of a stream, owned by the stream's only writer. Use `open` to create
    it.

    The inode and size are checked before each write. After a failed write, the file is truncated to
    its previous size. A failed sync is never retried. Only `sync` may run concurrently with
    `append`.
    """

    def __init__(self, path: Path, file: int, contents: StreamContents) -> None:
        self.contents = contents
        self.count = contents.head.count
        self._path = path
        self._name = os.fspath(path)  # used before each write, where pathlib would be slower
        self._file = file
        self._size = contents.size
        self._refusal: StreamError | None = None
        self._folder_synced = False
        self._closing = threading.Lock()
        status = os.fstat(file)
        self._inode = (status.st_dev, status.st_ino)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file, lock it, and check all hashes.

        The file is created if it is missing, and decompressed if needed. Raises StreamLocked if
        another writer has locked it, DiskError if it cannot be opened, and StreamDamaged if it
        contains an invalid line that is not part of a torn tail.
        """
        with ExitStack() as on_failure:
            file = open_for_writing(path)
            on_failure.callback(os.close, file)
            with disk_errors(path):
                drop_page_cache(file)
                opened = cls(path, file, check_stream(file, path))
            on_failure.pop_all()
        return opened

    def recover(self) -> tuple[Recovered, ...]:
        """Move a torn tail to a quarantine file next to the stream.

        Return the events to record. Raises StreamWriteFailed if the tail cannot be moved.
        """
        try:
            with closing_fd(open_folder(self._path.parent)) as folder:
                return quarantine_tail(
                    self._file, self.contents, name=self._path.name, folder=folder
                )
        except OSError as error:
            raise self._refuse(
                f"its torn tail cannot be moved to quarantine: {error.strerror}"
            ) from error

    def append(self, *lines: bytes) -> None:
        """Append lines, each with its newline, in one write.

        Raises WriterReplaced if another process moved, replaced or changed the file, and
        StreamWriteFailed if the write fails.
        """
        self._check()
        data = b"".join(lines)
        try:
            written = os.write(self._file, data)
            reason = "the disk is full"
        except OSError as error:
            written, reason = 0, error.strerror or str(error)
        if written != len(data):
            self._cut_back(reason)
        self._size += written
        self.count += len(lines)

    def sync(self) -> None:
        """Sync the lines to disk. The first call also syncs the folder.

        Raises StreamWriteFailed if the sync fails. The file then accepts no more lines.
        """
        self._check_usable()
        try:
            with self._closing:
                self._sync()
        except (OSError, DiskError) as error:
            raise self._refuse(f"sync failed: {error}") from error

    def close(self) -> None:
        """Close the file and release its lock. The object cannot be used afterwards."""
        with self._closing:
            os.close(self._file)

    def _sync(self) -> None:
        sync_data(self._file)
        if not self._folder_synced:
            sync_folder(self._path.parent)
            self._folder_synced = True

    def _cut_back(self, reason: str) -> None:
        try:
            os.ftruncate(self._file, self._size)
        except OSError as error:
            raise self._refuse(
                f"{reason}; truncating the file failed too: {error.strerror}"
            ) from error
        raise StreamWriteFailed(
            f"{self._path}: {reason}", hint="free some disk space; the stream is unchanged"
        )

    def _check(self) -> None:
        self._check_usable()
        status = None
        with suppress(OSError):
            status = os.lstat(self._name)
        if status is None or (status.st_dev, status.st_ino) != self._inode:
            raise self._refuse("its file was moved or replaced", WriterReplaced)
        if status.st_size != self._size:
            raise self._refuse("another process changed its file", WriterReplaced)

    def _check_usable(self) -> None:
        if self._refusal is not None:
            why = f"{self._path.name} accepts no more events: {self._refusal.message}"
            raise type(self._refusal)(why, hint=self._refusal.hint)

    def _refuse(self, why: str, kind: type[StreamError] = StreamWriteFailed) -> StreamError:
        hint = "`remora trace verify` shows what is on disk"
        self._refusal = kind(f"{self._path}: {why}", hint=hint)
        return self._refusal
