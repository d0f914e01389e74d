"""Incremental index update. Only the new part of each stream is read."""

import sqlite3
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from remora.errors import RemoraError
from remora.files.disposable_sqlite import transaction
from remora.ids import is_id
from remora.trace.content.byte_source import ByteSource
from remora.trace.content.line_format import Line, complete_lines
from remora.trace.index.ingest import StreamReading
from remora.trace.index.row_check import ends_with_hash
from remora.trace.index.row_codec import (
    FileStamp,
    IndexedStream,
    delete_stream_rows,
    indexed_streams,
    load_state,
    store_snapshots,
    store_stream,
    store_turns,
)
from remora.trace.index.rows import Snapshot, StreamRow, TurnRow
from remora.trace.read.reader import open_stream
from remora.trace.trace_folder import TraceFolder, stream_id

_COMMIT = 64 * 1024 * 1024  # bytes of a stream between two commits
_STALE = FileStamp(0, 0, 0)


def update_all(db: sqlite3.Connection, folder: TraceFolder) -> list[IndexedStream]:
    """Index every stream, and delete the rows of streams that no longer exist.

    Return all indexed streams. Raises IndexCorrupted.
    """
    paths = agent_stream_paths(folder)
    known = {each.stream.agent_id: each for each in forget_missing_streams(db, paths)}
    changed = False
    for name, path in paths.items():
        changed |= _update(db, path, known.get(name))
    return indexed_streams(db) if changed else list(known.values())


def agent_stream_paths(folder: TraceFolder) -> dict[str, Path]:
    """Return the paths of all agent streams, keyed by agent ID.

    Files whose names are not valid IDs are ignored.
    """
    named = ((stream_id(path), path) for path in folder.agent_streams())
    return {name: path for name, path in named if is_id(name)}


def forget_missing_streams(db: sqlite3.Connection, there: Collection[str]) -> list[IndexedStream]:
    """Delete the rows of all agents that are not in `there`, and return the remaining streams.

    Raises IndexCorrupted.
    """
    known = indexed_streams(db)
    if missing := [each for each in known if each.stream.agent_id not in there]:
        with transaction(db):
            for each in missing:
                delete_stream_rows(db, each.id)
    return [each for each in known if each.stream.agent_id in there]


def update_stream(db: sqlite3.Connection, path: Path, until: int) -> IndexedStream | None:
    """Index a stream at least up to the end of turn `until`. Return None if the stream cannot be
    read.
    """
    known = indexed_streams(db, stream_id(path))
    if _update(db, path, known[0] if known else None, until):
        known = indexed_streams(db, stream_id(path))
    return known[0] if known else None


def read_rows(path: Path) -> tuple[StreamRow | None, list[TurnRow]]:
    """Return all rows that can be read from a stream.

    Does not use the index, and does not reconstruct packets.
    """
    reading, rows = StreamReading(agent_id=stream_id(path), folds=False), list[TurnRow]()
    with suppress(RemoraError), open_stream(path) as source:
        for line in complete_lines(source):
            rows += reading.take(line)[0]
            if reading.fault:
                break
    return reading.stream, rows + reading.open_rows()


def _update(
    db: sqlite3.Connection, path: Path, known: IndexedStream | None, until: int | None = None
) -> bool:
    """Update the rows of one stream. Return True if anything was written."""
    try:
        stamp = FileStamp.of(path)
        # an empty plain file may exist next to the compressed stream
        if known is not None and known.stamp == stamp and stamp.size:
            return False
        with open_stream(path) as source:
            return _read(db, source, known, stamp, stream_id(path), until)
    except (OSError, RemoraError):
        if known is not None:
            with transaction(db):
                delete_stream_rows(db, known.id)
        return known is not None


def _read(
    db: sqlite3.Connection,
    source: ByteSource,
    known: IndexedStream | None,
    stamp: FileStamp,
    agent_id: str,
    until: int | None,
) -> bool:
    reading = None if known is None else _stored_reading(db, source, known, stamp)
    if reading is not None and reading.is_behind(until):
        return False
    batch = _Batch(
        db, known, stamp, reading or StreamReading(agent_id=agent_id), rebuild=reading is None
    )
    # in a damaged compressed file, the rows before the damage are kept
    with suppress(RemoraError):
        batch.read(complete_lines(source, batch.reading.size, batch.reading.count), until)
    batch.write()
    return True


def _stored_reading(
    db: sqlite3.Connection, source: ByteSource, known: IndexedStream, stamp: FileStamp
) -> StreamReading | None:
    """Return the stored state to continue from, or None if the stream was rewritten."""
    reading = load_state(db, known)
    rewritten = (stamp.inode, stamp.size) == (known.stamp.inode, known.stamp.size)
    reading.fault = 0
    with suppress(RemoraError):
        if not rewritten and ends_with_hash(source, reading.size, reading.hash):
            return reading
    return None


class _Batch:
    """Rows that have been read but not yet written to the index."""

    def __init__(
        self,
        db: sqlite3.Connection,
        known: IndexedStream | None,
        stamp: FileStamp,
        reading: StreamReading,
        *,
        rebuild: bool,
    ) -> None:
        self.reading = reading
        self._connection = db
        self._number = None if known is None else known.id
        self._stamp = stamp
        self._rebuild = rebuild
        self._partly = False
        self._rows: list[TurnRow] = []
        self._snapshots: list[Snapshot] = []

    def read(self, lines: Iterable[Line], until: int | None) -> None:
        """Read until the end of the stream, the first invalid line, or the end of turn `until`.

        Commits after every 64 MiB.
        """
        written = self.reading.size
        for line in lines:
            rows, snapshot = self.reading.take(line)
            if self.reading.fault:
                break
            self._rows += rows
            if snapshot is not None:
                self._snapshots.append(snapshot)
            self._partly = True
            if rows and self.reading.is_behind(until):
                return
            if self.reading.size - written > _COMMIT:
                self.write()
                written = self.reading.size
        self._partly = False

    def write(self) -> None:
        """Write the rows in one transaction.

        If only part of the stream was read, the file's stamp is not stored, so that the next update
        reads the rest.
        """
        with transaction(self._connection):
            if self._rebuild and self._number is not None:
                delete_stream_rows(self._connection, self._number)
            stamp = _STALE if self._partly else self._stamp
            self._number = store_stream(self._connection, self.reading, stamp, self._number)
            store_turns(self._connection, self._number, [*self._rows, *self.reading.open_rows()])
            store_snapshots(self._connection, self._number, self._snapshots)
        self._rebuild = False
        self._rows, self._snapshots = [], []
