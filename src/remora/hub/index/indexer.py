"""Indexer, which updates the store from the files. It reads only files that changed."""

import gc
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from remora.code.file_facts import FileFacts
from remora.hub.file_reader import Content, Reader, facts_of, open_reader
from remora.hub.file_stamp import is_racy
from remora.hub.members.members import Members
from remora.hub.node import UpdateSource
from remora.hub.store.batch import Batch, FileUpdate, pack_update
from remora.hub.store.file_rows import FileRow
from remora.hub.store.hub_store import HubStore
from remora.ids import escape_path

_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_FILES = 1024
"""Maximum files stored together. The limits bound memory."""


class ChangedPaths(NamedTuple):
    """Raw paths of changed files, and of stored files that no longer belong to the project."""

    changed: tuple[str, ...]
    gone: tuple[str, ...]


class FileError(NamedTuple):
    """Reason why a file could not be read completely, or at all. `path` is a raw path."""

    path: str
    detail: str


class Refreshed(NamedTuple):
    """Outcome of a refresh."""

    generation: int
    changed: tuple[str, ...]
    """Sorted keys of all nodes whose facts changed."""
    errors: tuple[FileError, ...] = ()
    deferred: tuple[str, ...] = ()
    """Raw paths of files that were too large to read now."""
    rebuilt: bool = False
    """True if all other files must be stored again."""


class Indexer:
    """Indexer for one root. All methods raise DiskError if the root or the database is unusable."""

    def __init__(self, root: Path, store: HubStore, members: Members) -> None:
        self._root = root
        self._store = store
        self._members = members

    @property
    def file_limit(self) -> int:
        return self._members.file_limit

    def look(self) -> ChangedPaths:
        """Return the changed files.

        A file's content is compared only if its Stamp differs or is recent.
        """
        began = time.time_ns()
        with self._open() as reader:
            now = self._members.sweep()
            rows = self._store.files()
            changed = [
                path
                for path, stamp in now.items()
                if (row := rows.get(path)) is None
                or (
                    (row.stamp != stamp or is_racy(stamp, began))
                    and self._differs(reader, path, row)
                )
            ]
        return ChangedPaths(tuple(sorted(changed)), tuple(sorted(rows.keys() - now.keys())))

    def refresh(
        self, paths: Iterable[str], *, source: UpdateSource, defer_over: int | None = None
    ) -> Refreshed:
        """Read the files at the given raw paths and store their changes.

        Files that cannot be read, or that do not belong to the project, are removed from the store.
        Files of more than `defer_over` bytes are returned in `deferred`, to be stored with `supply`
        later.
        """
        requested = set(paths)
        there = self._members.belonging(requested)
        work = _Work(self._store, source)
        with self._open() as reader, _collecting_nothing():
            work.remove(requested - there)
            for path in sorted(there):
                if (content := work.read(reader, path)) is None:
                    continue
                if defer_over is not None and len(content.data) > defer_over:
                    work.deferred.append(path)
                else:
                    work.take(path, content, facts_of(path, content))
            return work.finish()

    def supply(
        self, path: str, file_hash: str, facts: FileFacts, *, source: UpdateSource
    ) -> Refreshed:
        """Store the facts of a deferred file if its content has not changed in the meantime."""
        work = _Work(self._store, source)
        with self._open() as reader:
            content = work.read(reader, path) if self._members.belonging([path]) else None
        if content is not None and content.file_hash == file_hash:
            work.take(path, content, facts)
        return work.finish()

    def _differs(self, reader: Reader, path: str, row: FileRow) -> bool:
        """Return True if a file's content differs from the stored content.

        If it does not differ, store the file's new Stamp.
        """
        try:
            content = reader.read(path)
        except OSError:
            return True
        if content.file_hash != row.file_hash:
            return True
        self._store.seen(path, content.stamp)
        return False

    def _open(self) -> AbstractContextManager[Reader]:
        return open_reader(self._root, self._members.file_limit)


class _Work:
    """State of a refresh: the results, and the files that are read but not yet stored."""

    def __init__(self, store: HubStore, source: UpdateSource) -> None:
        self.deferred: list[str] = []
        self._store = store
        self._source = source
        self._updates: list[FileUpdate] = []
        self._removed: list[str] = []
        self._size = 0
        self._errors: list[FileError] = []
        self._changed: set[str] = set()
        self._rebuilt = False

    def remove(self, paths: Iterable[str]) -> None:
        """Remove the paths that are stored."""
        self._removed += [path for path in sorted(paths) if path in self._store.files()]

    def read(self, reader: Reader, path: str) -> Content | None:
        """Return the content of a file that has to be analyzed.

        Returns None if the file is unchanged or cannot be read.
        """
        row = self._store.files().get(path)
        try:
            content = reader.read(path)
        except OSError as error:
            self.remove([path])
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                self._errors.append(FileError(path, error.strerror or str(error)))
            return None
        if row is None or content.file_hash != row.file_hash:
            return content
        self._store.seen(path, content.stamp)
        return None

    def take(self, path: str, content: Content, facts: FileFacts) -> None:
        """Queue the facts of a file."""
        if facts.detail:
            self._errors.append(FileError(path, facts.detail))
        self._updates.append(pack_update(facts, content.stamp))
        self._size += len(content.data)
        if self._size > _BATCH_BYTES or len(self._updates) >= _BATCH_FILES:
            self._write()

    def finish(self) -> Refreshed:
        if self._updates or self._removed:
            self._write()
        return Refreshed(
            generation=self._store.generation,
            changed=tuple(sorted(self._changed)),
            errors=tuple(self._errors),
            deferred=tuple(self.deferred),
            rebuilt=self._rebuilt,
        )

    def _write(self) -> None:
        removed = tuple(map(escape_path, self._removed))
        applied = self._store.apply(
            Batch(updates=tuple(self._updates), gone=removed, source=self._source)
        )
        self._changed.update(applied.changed)
        self._rebuilt |= applied.rebuilt
        self._updates, self._removed, self._size = [], [], 0


@contextmanager
def _collecting_nothing() -> Iterator[None]:
    """Disable garbage collection, which would take up to half of the time.

    This is safe because facts contain no reference cycles.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
