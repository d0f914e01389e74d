"""Consistent state of the database, which a linking round reads."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from remora.code.callgraph.incremental import AliasDigest
from remora.code.ir.model import LoweredFile, decode_lowered
from remora.errors import DiskError, undo_on_error
from remora.hub.store.hub_database import open_reading, to_hub_error
from remora.hub.store.ir_cache import IrCache
from remora.hub.store.reader import SharedState, StoredSnapshot
from remora.hub.store.tables import blank

_COPIED = {
    f"SELECT * FROM {table}": f"INSERT OR REPLACE INTO {table} VALUES ({marks})"  # noqa: S608
    for table, marks in (
        ("meta", "?, ?"),
        ("file_index", "?, ?, ?, ?, ?, ?, ?, ?, ?"),
        ("file_facts", "?, ?"),
        ("mentions", "?, ?"),
    )
}
"""SQL that copies the linker's tables into memory."""
_CACHE_BYTES = 24 * 1024 * 1024
"""Encoded bytes of cached IR. With a fifth of this, half the time would be spent decoding."""


class LinkState:
    """Database state for a linking round. It is valid within the `link_state` block.

    Methods raise sqlite3.Error or MsgspecError if the data cannot be read.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        (self.base,) = connection.execute(
            "SELECT value FROM meta WHERE name = 'lowered_since'"
        ).fetchone()
        """Generation that identifies this state; see `LinkWriter`."""
        self.nodes = {key for (key,) in connection.execute("SELECT key FROM node_state")}
        """Keys of all nodes."""

    def program(self) -> StoredSnapshot:
        """Copy all files into memory: usable after the state is closed, because linking takes long.

        The caller closes it.
        """
        copy = blank(0)
        with undo_on_error(copy.close):
            for read, write in _COPIED.items():
                copy.executemany(write, self._connection.execute(read))
        return StoredSnapshot(copy, Path(":memory:"), SharedState([], IrCache(_CACHE_BYTES)))

    def before(self) -> dict[str, LoweredFile | None]:
        """Return the base version of the IR of each file that has changed since the base.

        The result is keyed by path. The IR is None for a new file.
        """
        rows = self._connection.execute("SELECT path, before FROM unlinked")
        return {path: None if stored is None else decode_lowered(stored) for path, stored in rows}

    def linked(self) -> Iterator[tuple[str, int]]:
        """Yield each node that has stored links, with the inputs of these links."""
        for key, reads in self._connection.execute("SELECT source_key, reads FROM linked"):
            yield key, decode_reads(reads)

    def carried(self) -> dict[str, AliasDigest]:
        """Return the stored `carried` rows by node key.

        A row contains a digest of the names that determined a link.
        """
        rows = self._connection.execute("SELECT key, names, reads FROM carried")
        return {key: AliasDigest(names, decode_reads(reads)) for key, names, reads in rows}


@contextmanager
def link_state(db: Path) -> Iterator[LinkState]:
    """Read the latest state of a database. Raises DiskError if it cannot be read."""
    if (connection := open_reading(db)) is None:
        raise DiskError(f"{db} cannot be read")
    with closing(connection):
        try:
            connection.execute("BEGIN")
            yield LinkState(connection)
        except sqlite3.Error as error:
            raise to_hub_error(error, db) from error
        except (msgspec.MsgspecError, zlib.error) as error:
            raise to_hub_error(sqlite3.DatabaseError(str(error)), db) from error


def encode_reads(reads: int) -> bytes:
    """Encode a bit set for storage."""
    return zlib.compress(reads.to_bytes((reads.bit_length() + 7) // 8, "little"))


def decode_reads(stored: bytes) -> int:
    """Decode a stored bit set. Raises zlib.error if it is invalid."""
    return int.from_bytes(zlib.decompress(stored), "little")
