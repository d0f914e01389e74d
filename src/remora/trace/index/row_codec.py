"""Storage of index rows in SQLite, with checks of types when rows are read."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import zstandard

from remora.memory.packet import DecisionPacket
from remora.trace.index.index_database import IndexCorrupted, Value
from remora.trace.index.ingest import StreamReading
from remora.trace.index.rows import LinePlace, Snapshot, StreamRow, TurnRow, unpack_packet

_Record = TypeVar("_Record")
_STATE = msgspec.json.Decoder(StreamReading)
_MAX_STATE = 64 * 1024 * 1024
# The schema is checked when the index is opened, so `*` selects exactly the known columns.
_FORGET = (
    "DELETE FROM turns WHERE stream = ?",
    "DELETE FROM packets WHERE stream = ?",
    "DELETE FROM states WHERE stream = ?",
    "DELETE FROM streams WHERE id = ?",
)


class FileStamp(msgspec.Struct, frozen=True):
    """Inode, size and modification time of a file, used to detect changes cheaply."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> "FileStamp":
        status = path.lstat()
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)


class IndexedStream(msgspec.Struct, frozen=True, kw_only=True):
    """An indexed stream.

    `stamp` describes the file at the time of indexing, and `turns` is the number of rows.
    """

    id: int
    stream: StreamRow
    stamp: FileStamp
    turns: int


def indexed_streams(db: sqlite3.Connection, agent_id: str | None = None) -> list[IndexedStream]:
    """Return all indexed streams, or only the stream of `agent_id`. Raises IndexCorrupted."""
    if agent_id is None:
        rows = db.execute("SELECT * FROM streams")
    else:
        rows = db.execute("SELECT * FROM streams WHERE agent_id = ?", (agent_id,))
    return [_decode_stream(row) for row in rows]


def store_stream(
    db: sqlite3.Connection, reading: StreamReading, stamp: FileStamp, number: int | None
) -> int:
    """Write a stream and its reading state. Return the stream's ID.

    The ID is `number`, or a new ID if `number` is None.
    """
    stream = reading.stream or StreamRow(
        agent_id=reading.agent_id, run_id="", operation="", node_id="", attempt=0, started=""
    )
    if number is None:
        (number,) = db.execute("SELECT coalesce(max(id), 0) + 1 FROM streams").fetchone()
    turns = reading.closed + len(reading.open_rows())
    row = (number, *msgspec.structs.astuple(stream), *msgspec.structs.astuple(stamp), turns)
    _insert(db, "INSERT OR REPLACE INTO streams VALUES", [row])
    state = zstandard.ZstdCompressor(level=1).compress(_encoded(reading))
    _insert(db, "INSERT OR REPLACE INTO states VALUES", [(number, state)])
    return number


def load_state(db: sqlite3.Connection, known: IndexedStream) -> StreamReading:
    """Return the stored reading state of a stream. Raises IndexCorrupted."""
    row = db.execute("SELECT state FROM states WHERE stream = ?", (known.id,)).fetchone()
    if row is None:
        raise IndexCorrupted("a stream has no state")
    try:
        with zstandard.ZstdDecompressor().stream_reader(row[0]) as reader:
            return _STATE.decode(reader.read(_MAX_STATE))
    except (zstandard.ZstdError, TypeError, ValueError, RecursionError) as error:
        raise IndexCorrupted("a state is invalid") from error


def store_turns(db: sqlite3.Connection, number: int, rows: Iterable[TurnRow]) -> None:
    flat = [(number, *_flat(row)) for row in rows]
    _insert(db, "INSERT OR REPLACE INTO turns VALUES", flat)


def load_turns(db: sqlite3.Connection, known: IndexedStream) -> list[TurnRow]:
    found = db.execute("SELECT * FROM turns WHERE stream = ? ORDER BY turn, call", (known.id,))
    rows = [_row(row) for row in found]
    if len(rows) != known.turns:
        raise IndexCorrupted("rows are missing")
    return rows


def load_turn(db: sqlite3.Connection, known: IndexedStream, turn: int) -> list[TurnRow]:
    """Return the rows of one turn.

    Raises IndexCorrupted if any rows of the stream are missing, even rows of other turns.
    """
    (count,) = db.execute("SELECT count(*) FROM turns WHERE stream = ?", (known.id,)).fetchone()
    if count != known.turns:
        raise IndexCorrupted("rows are missing")
    found = db.execute(
        "SELECT * FROM turns WHERE stream = ? AND turn = ? ORDER BY call", (known.id, turn)
    )
    return [_row(row) for row in found]


def store_snapshots(db: sqlite3.Connection, number: int, snapshots: Iterable[Snapshot]) -> None:
    flat = [(number, *msgspec.structs.astuple(snapshot)) for snapshot in snapshots]
    _insert(db, "INSERT OR REPLACE INTO packets VALUES", flat)


def snapshot_before(
    db: sqlite3.Connection, known: IndexedStream, turn: int
) -> tuple[Snapshot, DecisionPacket] | None:
    """Return the newest packet snapshot at or before the start of `turn`, or None if there
    is none.
    """
    row = db.execute(
        "SELECT * FROM packets WHERE stream = ? AND turn <= ? ORDER BY turn DESC LIMIT 1",
        (known.id, turn),
    ).fetchone()
    if row is None:
        return None
    snapshot = _convert(_named(Snapshot, row[1:]), Snapshot)
    try:
        return snapshot, unpack_packet(snapshot.packet)
    except (ValueError, RecursionError) as error:
        raise IndexCorrupted("a packet is invalid") from error


def delete_stream_rows(db: sqlite3.Connection, number: int) -> None:
    for statement in _FORGET:
        db.execute(statement, (number,))


def _named(kind: type[msgspec.Struct], values: Iterable[Any]) -> dict[str, Any]:
    return dict(zip(kind.__struct_fields__, values, strict=True))


def _convert(values: dict[str, Any], kind: type[_Record]) -> _Record:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise IndexCorrupted("a row has invalid values") from error


def _encoded(reading: StreamReading) -> bytes:
    try:
        return msgspec.json.encode(reading)
    except RecursionError:  # an untrusted packet may be nested too deeply
        reading.stop_folding()
        return msgspec.json.encode(reading)


def _insert(db: sqlite3.Connection, statement: str, rows: list[tuple[Value, ...]]) -> None:
    if rows:
        places = ",".join("?" * len(rows[0]))
        db.executemany(f"{statement} ({places})", rows)


def _flat(row: TurnRow) -> tuple[Value, ...]:
    *values, place = msgspec.structs.astuple(row)
    return (*values, *((None,) * 4 if place is None else msgspec.structs.astuple(place)))


def _row(values: tuple[Any, ...]) -> TurnRow:
    _, *fields, offset, size, seq, digest = values
    place = None if digest is None else _named(LinePlace, (offset, size, seq, digest))
    return _convert(_named(TurnRow, (*fields, place)), TurnRow)


def _decode_stream(values: tuple[Any, ...]) -> IndexedStream:
    number, *rest = values
    stream, stamp = _named(StreamRow, rest[:6]), _named(FileStamp, rest[6:9])
    return _convert(_named(IndexedStream, (number, stream, stamp, rest[9])), IndexedStream)
