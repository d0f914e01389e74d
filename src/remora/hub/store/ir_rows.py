"""Rows of lowered files (IR) in a transaction, and the files not linked since."""

import sqlite3


class Lowering:
    """Collects within a transaction, and is written at its end.

    Where links have been found, the form that a changed file had then is kept: it tells which of
    them rest on it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._new: list[tuple[int, bytes]] = []
        self._gone: list[tuple[int | None]] = []
        self._before: list[tuple[str, bytes | None]] = []

    def put(self, path: str, file: int, lowered: bytes, before: bytes | None) -> None:
        """A file's form as it is now, and as it is stored."""
        if before != lowered:
            self._new.append((file, lowered))
            self._before.append((path, before))

    def remove(self, path: str, file: int | None, before: bytes | None) -> None:
        """A file that is gone."""
        self._gone.append((file,))
        self._before.append((path, before))

    def write(self, generation: int) -> None:
        """All of it; nothing where all forms are what they were."""
        if not self._before:
            return
        run, many = self._connection.execute, self._connection.executemany
        many("DELETE FROM file_facts WHERE file = ?", self._gone)
        many("INSERT OR REPLACE INTO file_facts VALUES (?, ?)", self._new)
        run("UPDATE meta SET value = ? WHERE name = 'lowered_since'", (generation,))
        if run("SELECT 1 FROM meta WHERE name = 'links_base'").fetchone():
            many("INSERT OR IGNORE INTO unlinked VALUES (?, ?)", self._before)
