"""IR rows of a transaction, and the previous IR of the files that must be linked again."""

import sqlite3


class IrRows:
    """Collects the IR rows of a transaction.

    It also collects the previous IR of changed files, which is used to find outdated links.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._new: list[tuple[int, bytes]] = []
        self._removed: list[tuple[int | None]] = []
        self._before: list[tuple[str, bytes | None]] = []

    def put(self, path: str, file: int, lowered: bytes, before: bytes | None) -> None:
        """Add the new and the stored IR of a file, unless they are equal."""
        if before != lowered:
            self._new.append((file, lowered))
            self._before.append((path, before))

    def remove(self, path: str, file: int | None, before: bytes | None) -> None:
        """Add a file that was removed."""
        self._removed.append((file,))
        self._before.append((path, before))

    def write(self, generation: int) -> None:
        """Write all rows. If no IR has changed, nothing is written."""
        if not self._before:
            return
        run, many = self._connection.execute, self._connection.executemany
        many("DELETE FROM file_facts WHERE file = ?", self._removed)
        many("INSERT OR REPLACE INTO file_facts VALUES (?, ?)", self._new)
        run("UPDATE meta SET value = ? WHERE name = 'lowered_since'", (generation,))
        if run("SELECT 1 FROM meta WHERE name = 'links_base'").fetchone():
            many("INSERT OR IGNORE INTO unlinked VALUES (?, ?)", self._before)
