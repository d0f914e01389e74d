"""The rows of the index as records: what is read is checked, what is written is marked."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from remora.memory.packet import DecisionPacket
from remora.trace.index.index_database import IndexLies, Value, mark
from remora.trace.index.ingest import Reading
from remora.trace.index.rows import Place, Snapshot, StreamRow, TurnRow, unpack

_STATE = msgspec.json.Decoder(Reading)
_MOST = 64 * 1024 * 1024
# The schema is compared before anything is read, so `*` is what this module knows.
_FORGET = (
    "DELETE FROM turns WHERE stream = ?",
    "DELETE FROM packets WHERE stream = ?",
    "DELETE FROM states WHERE stream = ?",
    "DELETE FROM streams WHERE id = ?",
)


class FileStamp(msgspec.Struct, frozen=True):
    """What changes when a file does: cheap to ask, and enough to know that nothing happened."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, path: Path) -> "FileStamp":
        """As the file is now. Raises OSError."""
        status = path.lstat()
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A stream that the index has: its file as it was then, and how many rows it came to."""

    id: int
    stream: StreamRow
    stamp: FileStamp
    turns: int


def known_streams(connection: sqlite3.Connection, agent_id: str | None = None) -> list[Known]:
    """All streams, or the one of an agent. Raises IndexLies."""
    if agent_id is None:
        rows = connection.execute("SELECT * FROM streams")
    else:
        rows = connection.execute("SELECT * FROM streams WHERE agent_id = ?", (agent_id,))
    return [_known(_believed("stream", row)) for row in rows]


def store_stream(
    connection: sqlite3.Connection, reading: Reading, stamp: FileStamp, number: int | None
) -> int:
    """Write what is known of a stream, `number` being its id if it has one; the id."""
    stream = reading.stream or StreamRow(
        agent_id=reading.agent_id, run_id="", operation="", node_id="", attempt=0, started=""
    )
    if number is None:
        (number,) = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM streams").fetchone()
    turns = reading.closed + len(reading.open_rows())
    row = (number, *msgspec.structs.astuple(stream), *msgspec.structs.astuple(stamp), turns)
    _put(connection, "INSERT OR REPLACE INTO streams VALUES", [(*row, mark("stream", *row))])
    state = zstandard.ZstdCompressor(level=1).compress(_encoded(reading))
    _put(
        connection,
        "INSERT OR REPLACE INTO states VALUES",
        [(number, state, mark("state", number, state))],
    )
    return number


def reading_of(connection: sqlite3.Connection, known: Known) -> Reading:
    """Where reading the stream goes on. Raises IndexLies."""
    row = connection.execute(
        "SELECT stream, state, mark FROM states WHERE stream = ?", (known.id,)
    ).fetchone()
    if row is None:
        raise IndexLies("a stream without its state")
    _, state = _believed("state", row)
    try:
        with zstandard.ZstdDecompressor().stream_reader(state) as reader:
            return _STATE.decode(reader.read(_MOST))
    except (zstandard.ZstdError, ValueError, RecursionError) as error:
        raise IndexLies("a state that is none") from error


def store_turns(connection: sqlite3.Connection, number: int, rows: Iterable[TurnRow]) -> None:
    """Write rows of a stream over what was there for their turns."""
    flat = [(number, *_flat(row)) for row in rows]
    _put(
        connection,
        "INSERT OR REPLACE INTO turns VALUES",
        [(*row, mark("turn", *row)) for row in flat],
    )


def turns_of(connection: sqlite3.Connection, known: Known) -> list[TurnRow]:
    """All rows of a stream, in order. Raises IndexLies, also where one is missing."""
    found = connection.execute(
        "SELECT * FROM turns WHERE stream = ? ORDER BY turn, call",
        (known.id,),
    )
    rows = [_row(_believed("turn", row)) for row in found]
    if len(rows) != known.turns:
        raise IndexLies("rows are missing")
    return rows


def turn_of(connection: sqlite3.Connection, known: Known, turn: int) -> list[TurnRow]:
    """The rows of one turn. Raises IndexLies, also where any row of the stream is missing: one
    that is not there cannot be seen to lie."""
    (count,) = connection.execute(
        "SELECT count(*) FROM turns WHERE stream = ?", (known.id,)
    ).fetchone()
    if count != known.turns:
        raise IndexLies("rows are missing")
    found = connection.execute(
        "SELECT * FROM turns WHERE stream = ? AND turn = ? ORDER BY call",
        (known.id, turn),
    )
    return [_row(_believed("turn", row)) for row in found]


def store_snapshots(
    connection: sqlite3.Connection, number: int, snapshots: Iterable[Snapshot]
) -> None:
    """Write packets on the way of a stream."""
    flat = [(number, *msgspec.structs.astuple(snapshot)) for snapshot in snapshots]
    _put(
        connection,
        "INSERT OR REPLACE INTO packets VALUES",
        [(*row, mark("packet", *row)) for row in flat],
    )


def snapshot_before(
    connection: sqlite3.Connection, known: Known, turn: int
) -> tuple[Snapshot, DecisionPacket] | None:
    """The newest packet that was kept at the beginning of `turn` or of an earlier one.

    Raises IndexLies.
    """
    row = connection.execute(
        "SELECT * FROM packets WHERE stream = ? AND turn <= ? ORDER BY turn DESC LIMIT 1",
        (known.id, turn),
    ).fetchone()
    if row is None:
        return None
    _, kept, offset, digest, packet = _believed("packet", row)
    try:
        unpacked = unpack(packet)
    except (ValueError, RecursionError) as error:
        raise IndexLies("a packet that is none") from error
    return Snapshot(turn=kept, offset=offset, hash=digest, packet=packet), unpacked


def forget(connection: sqlite3.Connection, number: int) -> None:
    """Everything of a stream goes."""
    for statement in _FORGET:
        connection.execute(statement, (number,))


def _believed(kind: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    *values, stated = row
    try:
        right = mark(kind, *values) == stated
    except (TypeError, ValueError, OverflowError) as error:
        raise IndexLies(f"a {kind} that nobody wrote") from error
    if not right:
        raise IndexLies(f"a {kind} that was changed")
    return tuple(values)


def _encoded(reading: Reading) -> bytes:
    try:
        return msgspec.json.encode(reading)
    except RecursionError:  # a foreign packet, nested without end
        reading.stop_folding()
        return msgspec.json.encode(reading)


def _put(connection: sqlite3.Connection, statement: str, rows: list[tuple[Value, ...]]) -> None:
    if rows:
        places = ",".join("?" * len(rows[0]))
        connection.executemany(f"{statement} ({places})", rows)


def _flat(row: TurnRow) -> tuple[Value, ...]:
    *told, place = msgspec.structs.astuple(row)
    return (*told, *((None,) * 4 if place is None else msgspec.structs.astuple(place)))


def _row(values: tuple[Any, ...]) -> TurnRow:
    _, *told, offset, size, seq, digest = values
    place = None
    if digest is not None:
        place = Place(offset=offset, size=size, seq=seq, hash=digest)
    names = TurnRow.__struct_fields__
    return TurnRow(**dict(zip(names, [*told, place], strict=True)))


def _known(values: tuple[Any, ...]) -> Known:
    number, *rest = values
    return Known(
        id=number,
        stream=StreamRow(**dict(zip(StreamRow.__struct_fields__, rest[:6], strict=True))),
        stamp=FileStamp(*rest[6:9]),
        turns=rest[9],
    )
