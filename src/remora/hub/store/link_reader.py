"""The database state that a round of linking reads, as of one moment."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from remora.code.callgraph.incremental import AliasDigest
from remora.code.ir.model import LoweredFile, decode_lowered
from remora.errors import DiskError
from remora.hub.store.hub_database import open_reading, to_hub_error
from remora.hub.store.ir_cache import IrCache
from remora.hub.store.reader import SharedState, StoredSnapshot
from remora.hub.store.tables import blank

_COPIED = {
    f"SELECT * FROM {table}": f"INSERT OR REPLACE INTO {table} VALUES ({marks})"  # noqa: S608
    for table, marks in (
        ("meta", "?, ?"),
        ("file_index", "?, ?, ?, ?, ?, ?, ?, ?, ?, ?"),
        ("file_facts", "?, ?"),
        ("mentions", "?, ?"),
    )
}
"""How the tables that linking reads come into memory."""
_DECODED = 24 * 1024 * 1024
"""Encoded bytes whose decoded form is kept: those of the standard library, nearly. With a fifth of
that, half of the time goes into decoding."""


class LinkState:
    """Holds as long as `link_state`; methods raise sqlite3.Error and msgspec.MsgspecError."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        (self.base,) = connection.execute(
            "SELECT value FROM meta WHERE name = 'lowered_since'"
        ).fetchone()
        """What names this state, see `LinkWriting`."""
        self.program = _in_memory(connection)
        """All files; stays when the state is over: linking takes long, and the database's log must
        not wait for it."""
        self.nodes = {key for (key,) in connection.execute("SELECT key FROM node_state")}
        """The keys of all nodes."""

    def before(self) -> dict[str, LoweredFile | None]:
        """The files that changed since the base, as they were there."""
        rows = self._connection.execute("SELECT path, before FROM unlinked")
        return {path: None if stored is None else decode_lowered(stored) for path, stored in rows}

    def linked(self) -> Iterator[tuple[str, int]]:
        """The nodes whose links are stored, with the inputs that these were found from."""
        for key, reads in self._connection.execute("SELECT source_key, reads FROM linked"):
            yield key, decode_reads(reads)

    def carried(self) -> dict[str, AliasDigest]:
        """What was noted of the nodes whose names decided something in these."""
        rows = self._connection.execute("SELECT key, names, reads FROM carried")
        return {key: AliasDigest(names, decode_reads(reads)) for key, names, reads in rows}


@contextmanager
def link_state(db: Path) -> Iterator[LinkState]:
    """The newest state of a database. Raises DiskError where it cannot be read."""
    connection = open_reading(db)
    if connection is None:
        raise DiskError(f"{db} cannot be read")
    with closing(connection):
        try:
            connection.execute("BEGIN")
            yield LinkState(connection)
        except sqlite3.Error as error:
            raise to_hub_error(error, db) from error
        except (msgspec.MsgspecError, zlib.error) as error:
            raise to_hub_error(sqlite3.DatabaseError(str(error)), db) from error


def _in_memory(connection: sqlite3.Connection) -> StoredSnapshot:
    copy = blank(0)
    for read, write in _COPIED.items():
        copy.executemany(write, connection.execute(read))
    return StoredSnapshot(copy, Path(":memory:"), SharedState([], IrCache(_DECODED)))


def encode_reads(reads: int) -> bytes:
    """A set of bits as it is stored."""
    return zlib.compress(reads.to_bytes((reads.bit_length() + 7) // 8, "little"))


def decode_reads(stored: bytes) -> int:
    """The inverse of `encode_reads`. Raises zlib.error."""
    return int.from_bytes(zlib.decompress(stored), "little")
