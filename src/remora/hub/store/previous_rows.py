"""Stored rows of files that are about to be written again."""

import sqlite3

import msgspec

from remora.code.ir.model import decode_names
from remora.errors import HubDamaged
from remora.hub.store.batch_diff import StoredFile
from remora.hub.store.reader import StoredSnapshot

_MAX_CACHED = 64
_FILE = (
    "SELECT id, file_hash, partial, detail, extras, lowered "
    "FROM file_index JOIN file_facts ON file = id WHERE path = ?"
)


class PreviousRows:
    """Reads stored rows and caches them until the next write."""

    def __init__(self, connection: sqlite3.Connection, view: StoredSnapshot) -> None:
        self._connection = connection
        self._view = view
        self._cache: dict[str, StoredFile] = {}

    def of(self, path: str) -> StoredFile:
        """Return the rows of a stored file. `path` is spelled as in node keys.

        Raises HubDamaged if there is no readable row.
        """
        if (cached := self._cache.get(path)) is None:
            cached = self._read(path)
            if len(self._cache) < _MAX_CACHED:
                self._cache[path] = cached
        return cached

    def forget(self) -> None:
        """Clear the cache, because the stored rows are about to change."""
        self._cache.clear()

    def _read(self, path: str) -> StoredFile:
        lost = HubDamaged(f"the Hub's database has no readable row for {path}")
        if (row := self._connection.execute(_FILE, (path,)).fetchone()) is None:
            raise lost
        id_, file_hash, partial, detail, extras, lowered = row
        try:
            names = frozenset(decode_names(lowered))
        except msgspec.MsgspecError as error:
            raise lost from error
        nodes = {str(node.facts.key): node for node in self._view.nodes(path)}
        return StoredFile(id_, file_hash, bool(partial), detail, extras, nodes, names, lowered)
