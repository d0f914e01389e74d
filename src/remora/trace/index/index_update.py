"""Bringing the index up to date: of each stream only what is new is read."""

import sqlite3
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from remora.errors import RemoraError
from remora.files.disposable_sqlite import transaction
from remora.ids import is_id
from remora.trace.content.byte_source import Source
from remora.trace.content.line_format import Line, ended_lines
from remora.trace.index.ingest import Reading
from remora.trace.index.row_check import follows
from remora.trace.index.row_codec import (
    FileStamp,
    Known,
    forget,
    known_streams,
    reading_of,
    store_snapshots,
    store_stream,
    store_turns,
)
from remora.trace.index.rows import Snapshot, StreamRow, TurnRow
from remora.trace.read.reader import opened
from remora.trace.trace_folder import TraceFolder, stream_id

_COMMIT = 64 * 1024 * 1024
"""Bytes of a stream after which what was read so far is kept."""
_STALE = FileStamp(0, 0, 0)


def update_all(connection: sqlite3.Connection, folder: TraceFolder) -> list[Known]:
    """Every stream of the folder as it is now; those whose file is gone are forgotten.

    A file that cannot be read at all has no rows. Raises IndexLies and what SQLite raises.
    """
    paths = streams_of(folder)
    known = {each.stream.agent_id: each for each in forget_gone(connection, paths)}
    changed = False
    for name, path in paths.items():
        changed |= _update(connection, path, known.get(name))
    return known_streams(connection) if changed else list(known.values())


def streams_of(folder: TraceFolder) -> dict[str, Path]:
    """Paths by agent. What is not named by an id is nobody's stream, and may not even be text."""
    named = ((stream_id(path), path) for path in folder.agent_streams())
    return {name: path for name, path in named if is_id(name)}


def forget_gone(connection: sqlite3.Connection, there: Collection[str]) -> list[Known]:
    """What is known of agents that are there; of the others nothing is kept. Raises IndexLies."""
    known = known_streams(connection)
    gone = [each for each in known if each.stream.agent_id not in there]
    if gone:
        with transaction(connection):
            for each in gone:
                forget(connection, each.id)
    return [each for each in known if each.stream.agent_id in there]


def update_one(connection: sqlite3.Connection, path: Path, until: int) -> Known | None:
    """An agent's stream as it is now, at least to the end of turn `until`; None if it cannot be
    read. Raises as `update_all` does."""
    known = known_streams(connection, stream_id(path))
    if _update(connection, path, known[0] if known else None, until):
        known = known_streams(connection, stream_id(path))
    return known[0] if known else None


def read_rows(path: Path) -> tuple[StreamRow | None, list[TurnRow]]:
    """All rows of a stream, read from its beginning without the index; none of what cannot be
    read. Nothing is folded."""
    reading, rows = Reading(agent_id=stream_id(path), folds=False), list[TurnRow]()
    with suppress(RemoraError), opened(path) as source:
        for line in ended_lines(source):
            rows += reading.take(line)[0]
            if reading.fault:
                break
    return reading.stream, rows + reading.open_rows()


def _update(
    connection: sqlite3.Connection, path: Path, known: Known | None, until: int | None = None
) -> bool:
    """Whether anything was written."""
    try:
        stamp = FileStamp.of(path)
        # an empty file may lie beside the sealed stream that is meant
        if known is not None and known.stamp == stamp and stamp.size:
            return False
        with opened(path) as source:
            return _read(connection, source, known, stamp, stream_id(path), until)
    except (OSError, RemoraError):
        if known is not None:
            with transaction(connection):
                forget(connection, known.id)
        return known is not None


def _read(
    connection: sqlite3.Connection,
    source: Source,
    known: Known | None,
    stamp: FileStamp,
    agent_id: str,
    until: int | None,
) -> bool:
    reading = None if known is None else _continued(connection, source, known, stamp)
    if reading is not None and reading.is_behind(until):
        return False
    batch = _Batch(
        connection, known, stamp, reading or Reading(agent_id=agent_id), anew=reading is None
    )
    # a sealed stream whose file is damaged: what came before that stays
    with suppress(RemoraError):
        batch.read(ended_lines(source, batch.reading.size, batch.reading.count), until)
    batch.write()
    return True


def _continued(
    connection: sqlite3.Connection, source: Source, known: Known, stamp: FileStamp
) -> Reading | None:
    """Where reading stopped, if what was read is still there: the hash of its last line says so.
    A file that is as large as it was and was written all the same is read anew."""
    reading = reading_of(connection, known)
    rewritten = (stamp.inode, stamp.size) == (known.stamp.inode, known.stamp.size)
    reading.fault = 0
    with suppress(RemoraError):
        if not rewritten and follows(source, reading.size, reading.hash):
            return reading
    return None


class _Batch:
    """What was read and not yet written."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        known: Known | None,
        stamp: FileStamp,
        reading: Reading,
        *,
        anew: bool,
    ) -> None:
        self.reading = reading
        self._connection = connection
        self._number = None if known is None else known.id
        self._stamp = stamp
        self._anew = anew
        self._partly = False
        self._rows: list[TurnRow] = []
        self._snapshots: list[Snapshot] = []

    def read(self, lines: Iterable[Line], until: int | None) -> None:
        """To the end, to a line that is no event, or behind a turn; kept every 64 MB."""
        kept = self.reading.size
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
            if self.reading.size - kept > _COMMIT:
                self.write()
                kept = self.reading.size
        self._partly = False

    def write(self) -> None:
        """In one transaction. What is partly read does not look as fresh as its file."""
        with transaction(self._connection):
            if self._anew and self._number is not None:
                forget(self._connection, self._number)
            stamp = _STALE if self._partly else self._stamp
            self._number = store_stream(self._connection, self.reading, stamp, self._number)
            store_turns(self._connection, self._number, [*self._rows, *self.reading.open_rows()])
            store_snapshots(self._connection, self._number, self._snapshots)
        self._anew = False
        self._rows, self._snapshots = [], []
