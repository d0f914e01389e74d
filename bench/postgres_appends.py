"""Turns appended to PostgreSQL, to JSON lines, and to PostgreSQL in a transaction of the client."""

import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, Protocol

import psycopg
from recorded_events import Turn, built_lines

from remora.trace.postgres.database import Database
from remora.trace.postgres.store import PostgresTraceStore
from remora.trace.stream.jsonl_store import JsonlTraceStore
from remora.trace.stream.trace_store import TraceStore

WRITERS = 8
TURNS = 100
"""Turns that each writer appends in a round."""
ROUNDS = 9
Lines = tuple[bytes, ...]
_PEER_TABLES = """
CREATE SCHEMA peer;
CREATE TABLE peer.streams (
    name text PRIMARY KEY, epoch bigint NOT NULL, next_seq int NOT NULL, head text NOT NULL
);
CREATE TABLE peer.events (
    stream text NOT NULL, seq int NOT NULL, line bytea NOT NULL, PRIMARY KEY (stream, seq)
);
"""


class Measured(NamedTuple):
    """Turns per second of all writers together, and the median of all turns in milliseconds."""

    rate: float
    p50_ms: float


class Writer(Protocol):
    """Appends turns to one stream."""

    def append(self, seq: int, lines: Lines) -> None:
        """Append a turn and return when it is on disk."""

    def close(self) -> None:
        """Release the stream."""


class StoreWriter:
    """Writes a stream of a trace store, and syncs each turn."""

    def __init__(self, store: TraceStore, stream: str) -> None:
        self._store, self._stream = store, stream
        self._epoch = store.claim(stream).epoch

    def append(self, seq: int, lines: Lines) -> None:
        self._store.append(self._stream, self._epoch, seq, *lines)
        self._store.sync(self._stream, self._epoch)

    def close(self) -> None:
        self._store.release(self._stream, self._epoch)


class TransactionWriter:
    """Compares and inserts in a transaction of the client, on a connection of its own."""

    def __init__(self, dsn: str, stream: str) -> None:
        self._stream = stream
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._connection.execute("INSERT INTO peer.streams VALUES (%s, 1, 0, '')", [stream])

    def append(self, seq: int, lines: Lines) -> None:
        execute, stream = self._connection.execute, self._stream
        with self._connection.transaction():
            found = execute(
                "SELECT epoch, next_seq FROM peer.streams WHERE name = %s FOR UPDATE", [stream]
            ).fetchone()
            assert found == (1, seq)
            for number, line in enumerate(lines, seq):
                execute("INSERT INTO peer.events VALUES (%s, %s, %s)", [stream, number, line[:-1]])
            execute(
                "UPDATE peer.streams SET next_seq = %s, head = %s WHERE name = %s",
                [seq + len(lines), lines[-1][-67:-3].decode(), stream],
            )

    def close(self) -> None:
        self._connection.close()


def measure_appends(dsn: str, folder: Path, turns: Sequence[Turn]) -> dict[str, list[Measured]]:
    """Return one result of each arm for each round. The arms alternate."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(_PEER_TABLES)
    (folder / "traces").mkdir()
    jsonl, database = JsonlTraceStore(folder), Database(dsn)
    database.open()
    store = PostgresTraceStore(database, "bench")
    arms: dict[str, tuple[Callable[[str], Writer], int]] = {
        "JSONL": (lambda stream: StoreWriter(jsonl, stream), WRITERS),
        "PostgreSQL": (lambda stream: StoreWriter(store, stream), WRITERS),
        "transaction": (lambda stream: TransactionWriter(dsn, stream), WRITERS),
        "PostgreSQL, 1 writer": (lambda stream: StoreWriter(store, stream), 1),
    }
    results: dict[str, list[Measured]] = {name: [] for name in arms}
    for number in range(ROUNDS):
        for place, name in enumerate(list(arms)[:: -1 if number % 2 else 1]):
            opened, writers = arms[name]
            prefix = f"lint-{number:06x}{place:06x}"
            results[name].append(_measure(opened, prefix, turns, writers))
    database.close()
    return results


def _measure(
    opened: Callable[[str], Writer], prefix: str, turns: Sequence[Turn], writers: int
) -> Measured:
    agents = [f"{prefix}-{number}" for number in range(writers)]
    streams = [built_lines(agent, turns, TURNS) for agent in agents]
    ready = [opened(f"traces/{agent}") for agent in agents]
    with ThreadPoolExecutor(writers) as pool:
        start = time.perf_counter()
        found = list(pool.map(_append_all, ready, streams))
        seconds = time.perf_counter() - start
    for writer in ready:
        writer.close()
    p50 = statistics.median(each for spent in found for each in spent)
    return Measured(writers * TURNS / seconds, p50 * 1e3)


def _append_all(writer: Writer, stream: list[Lines]) -> list[float]:
    """Append all turns, and return the seconds that each one took."""
    spent, seq = [], 0
    for lines in stream:
        start = time.perf_counter()
        writer.append(seq, lines)
        spent.append(time.perf_counter() - start)
        seq += len(lines)
    return spent
