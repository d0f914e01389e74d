"""Indexer: updates the store from the files, reading only what changed."""

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from remora.code.file_analysis import read_facts
from remora.code.file_facts import FileFacts
from remora.errors import DiskError
from remora.hub.file_read import Content, Reader, facts_of, open_reader
from remora.hub.members.members import Members
from remora.hub.node import UpdateSource
from remora.hub.stamp import racy
from remora.hub.store.batch import Batch, FileUpdate, packed
from remora.hub.store.file_rows import FileRow
from remora.hub.store.hub_store import HubStore
from remora.hub.update_rules import Analyse, Known
from remora.ids import spell_path

_BATCH_BYTES = 4 * 1024 * 1024
_BATCH_FILES = 1024
"""Read before they are stored together: so a move is seen whole, and memory has a bound."""


class Extras(Protocol):
    """Users' scripts: `state` tells whether they changed, `extras` runs them."""

    def state(self) -> str:
        """Empty where there are none."""

    def extras(self, facts: FileFacts) -> dict[str, dict[str, Any]]:
        """By node key, what each script says."""


class Look(NamedTuple):
    """Raw paths of files that are not as they are stored, and of stored files that are gone."""

    changed: tuple[str, ...]
    gone: tuple[str, ...]


class FileError(NamedTuple):
    """A file that was read in part or not at all, and why; `path` is raw."""

    path: str
    detail: str


class Refreshed(NamedTuple):
    """Outcome of a refresh.

    `changed` are keys; `deferred` raw paths that were too large for now. `rebuilt`: the database
    was damaged or deleted: everything else must be looked at again.
    """

    generation: int
    changed: tuple[str, ...]
    errors: tuple[FileError, ...] = ()
    deferred: tuple[str, ...] = ()
    rebuilt: bool = False


def read_directly(path: str, source: bytes, known: Known) -> FileFacts:  # noqa: ARG001
    """The `Analyse` that reads a file without looking at what was known of it."""
    return read_facts(path, source)


class NoExtras:
    """A project without scripts of its own."""

    def state(self) -> str:
        """None."""
        return ""

    def extras(self, facts: FileFacts) -> dict[str, dict[str, Any]]:  # noqa: ARG002
        """Nothing."""
        return {}


class Indexer:
    """All methods raise DiskError where the root or the database cannot be had."""

    def __init__(
        self,
        root: Path,
        store: HubStore,
        members: Members,
        *,
        analyse: Analyse = read_directly,
        extras: Extras | None = None,
        clock: Callable[[], datetime],
    ) -> None:
        self._root = root
        self._store = store
        self._members = members
        self._analyse = analyse
        self._extras = extras or NoExtras()
        self._clock = clock

    @property
    def file_limit(self) -> int:
        """Bytes of a file above which it is skipped."""
        return self._members.file_limit

    def look(self) -> Look:
        """Compare every file with what is stored: by its Stamp, and by its bytes where the Stamp
        differs or is younger than 2 s."""
        began = time.time_ns()
        with self._open() as reader:
            now = self._members.sweep()
            rows, state = self._store.files(), self._extras.state()
            changed = [
                path
                for path, stamp in now.items()
                if (row := rows.get(path)) is None
                or row.extras != state
                or ((row.stamp != stamp or racy(stamp, began)) and self._differs(reader, path, row))
            ]
        return Look(tuple(sorted(changed)), tuple(sorted(rows.keys() - now.keys())))

    def refresh(
        self,
        paths: Iterable[str],
        *,
        source: UpdateSource,
        defer_over: int | None = None,
        analyse: Analyse | None = None,
    ) -> Refreshed:
        """Read these files (raw paths) and store what changed; those that do not belong any more
        are removed, and so are those that cannot be read.

        Files of more than `defer_over` bytes are named in `deferred`: `supply` takes their facts.
        `analyse` reads these files instead of what reads all.
        """
        wanted = set(paths)
        there = self._members.belonging(wanted)
        work = self._work(source)
        read = analyse or self._analyse
        with self._open() as reader, _collecting_nothing():
            work.remove(wanted - there)
            for path in sorted(there):
                content = work.read(reader, path)
                if content is None:
                    continue
                if content.skipped:
                    work.take(path, content, facts_of(path, content))
                elif defer_over is not None and len(content.data) > defer_over:
                    work.deferred.append(path)
                else:
                    known = Known() if read is read_directly else self._store.known(path)
                    work.take(path, content, read(path, content.data, known))
            return work.finish()

    def supply(
        self,
        path: str,
        file_hash: str,
        facts: FileFacts,
        *,
        source: UpdateSource = "file_change",
    ) -> Refreshed:
        """Store the facts of a deferred file, if its bytes are still those they were made from."""
        work = self._work(source)
        with self._open() as reader:
            content = work.read(reader, path) if self._members.belonging([path]) else None
        if content is not None and content.file_hash == file_hash:
            work.take(path, content, facts)
        return work.finish()

    def _work(self, source: UpdateSource) -> "_Work":
        return _Work(self._store, source, self._extras)

    def _differs(self, reader: Reader, path: str, row: FileRow) -> bool:
        """True if a file's bytes differ from those stored; if not, its Stamp is remembered."""
        try:
            content = reader.read(path)
        except OSError:
            return True
        if content.file_hash != row.file_hash:
            return True
        self._store.seen(path, content.stamp)
        return False

    @contextmanager
    def _open(self) -> Iterator[Reader]:
        try:
            with open_reader(self._root, self._members.file_limit) as reader:
                yield reader
        except OSError as error:
            raise DiskError(f"{self._root}: {error.strerror or error}") from error


class _Work:
    """One refresh: what was read and is not yet stored, and what came of what was."""

    def __init__(self, store: HubStore, source: UpdateSource, extras: Extras) -> None:
        self.deferred: list[str] = []
        self._store = store
        self._source = source
        self._extras = extras
        self._state = extras.state()
        self._updates: list[FileUpdate] = []
        self._gone: list[str] = []
        self._size = 0
        self._errors: list[FileError] = []
        self._changed: set[str] = set()
        self._rebuilt = False

    def remove(self, paths: Iterable[str]) -> None:
        """Remove these paths if they are stored."""
        self._gone += [path for path in sorted(paths) if path in self._store.files()]

    def read(self, reader: Reader, path: str) -> Content | None:
        """A file that may have to be analysed; None if it is as it is stored, or gone."""
        row = self._store.files().get(path)
        try:
            content = reader.read(path)
        except OSError as error:
            self.remove([path])
            if not isinstance(error, FileNotFoundError | NotADirectoryError):
                self._errors.append(FileError(path, error.strerror or str(error)))
            return None
        if row is None or row.extras != self._state:
            return content
        if content.file_hash != row.file_hash:
            return content
        self._store.seen(path, content.stamp)
        return None

    def take(self, path: str, content: Content, facts: FileFacts) -> None:
        """Store these facts, soon."""
        if facts.detail:
            self._errors.append(FileError(path, facts.detail))
        extra = self._extras.extras(facts) if self._state else {}
        self._updates.append(packed(facts, content.stamp, extra=extra, extras=self._state))
        self._size += len(content.data)
        if self._size > _BATCH_BYTES or len(self._updates) >= _BATCH_FILES:
            self._write()

    def finish(self) -> Refreshed:
        """Store what is left."""
        if self._updates or self._gone:
            self._write()
        return Refreshed(
            generation=self._store.generation,
            changed=tuple(sorted(self._changed)),
            errors=tuple(self._errors),
            deferred=tuple(self.deferred),
            rebuilt=self._rebuilt,
        )

    def _write(self) -> None:
        gone = tuple(map(spell_path, self._gone))
        applied = self._store.apply(
            Batch(updates=tuple(self._updates), gone=gone, source=self._source)
        )
        self._changed.update(applied.changed)
        self._rebuilt |= applied.rebuilt
        self._updates, self._gone, self._size = [], [], 0


@contextmanager
def _collecting_nothing() -> Iterator[None]:
    """Facts hold no cycles: to look for garbage among all that is known, whenever a tree has been
    parsed, is a tenth of the time of many files and half of that of one."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
