"""What is stored of a file before it is written again."""

import sqlite3

from remora.errors import HubDamaged
from remora.hub.store.differences import StoredFile
from remora.hub.store.reading import StoreView

_MOST = 64


class Before:
    """Reads what was stored; what was just read is kept until the next write."""

    def __init__(self, connection: sqlite3.Connection, view: StoreView) -> None:
        self._connection = connection
        self._view = view
        self._kept: dict[str, StoredFile] = {}

    def of(self, path: str) -> StoredFile:
        """Of a stored file, by its spelled path. Raises HubDamaged where that cannot be read."""
        kept = self._kept.get(path)
        if kept is None:
            kept = self._read(path)
            if len(self._kept) < _MOST:
                self._kept[path] = kept
        return kept

    def forget(self) -> None:
        """Something was written."""
        self._kept.clear()

    def _read(self, path: str) -> StoredFile:
        row = self._connection.execute(
            "SELECT id, file_hash, partial, detail, extras FROM file_index WHERE path = ?", (path,)
        ).fetchone()
        lowered = self._view.lowered(path)
        if row is None or lowered is None:
            raise HubDamaged(f"the Hub's database has lost what it knew of {path}")
        nodes = {str(node.facts.key): node for node in self._view.nodes(path)}
        partial, names = bool(row[2]), frozenset(lowered.names)
        return StoredFile(row[0], row[1], partial, row[3], row[4], nodes, names)
