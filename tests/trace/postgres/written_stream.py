"""Streams in a database that a test writes, and what only the owner of the tables can do to them."""

from collections.abc import Sequence

from remora.trace.postgres.database import Database
from remora.trace.postgres.store import PostgresTraceStore
from tests.trace.stream.store.conformance import STREAM, chained, head_of

LINES = chained(12)
_CHANGE = "UPDATE events SET lines = overlay(lines PLACING '#' FROM 40) WHERE seq = %s"
_SET_BACK = "UPDATE streams SET next_seq = %s, head = %s, bytes = %s"


class Writer:
    """The writer of a stream, with a lease until `release`. Each line gets a row."""

    def __init__(self, store: PostgresTraceStore, stream: str = STREAM) -> None:
        self._store = store
        self._stream = stream
        claim = store.claim(stream)
        self._epoch, self._count = claim.epoch, claim.head.count

    def append(self, *lines: bytes) -> None:
        for line in lines:
            self._store.append(self._stream, self._epoch, self._count, line)
            self._count += 1

    def release(self) -> None:
        self._store.release(self._stream, self._epoch)


def write(store: PostgresTraceStore, lines: Sequence[bytes], stream: str = STREAM) -> None:
    """Write a stream and release it."""
    writer = Writer(store, stream)
    writer.append(*lines)
    writer.release()


def change_line(database: Database, number: int) -> None:
    database.run(lambda connection: connection.execute(_CHANGE, [number]))


def delete_lines(database: Database, start: int) -> None:
    """Delete the lines from a number on, but leave the stream's row as it is."""
    query = "DELETE FROM events WHERE seq >= %s"
    database.run(lambda connection: connection.execute(query, [start]))


def lose_lines(database: Database, left: int) -> None:
    """Set the stream of `LINES` back, as a failover to a server that was behind does."""
    lines = LINES[:left]
    values = [left, head_of(lines).hash, sum(map(len, lines))]
    delete_lines(database, left)
    database.run(lambda connection: connection.execute(_SET_BACK, values))


def lose_streams(database: Database) -> None:
    """Remove all streams, as a server does that was restored from an old backup."""
    database.run(lambda connection: connection.execute("TRUNCATE streams, events"))
