"""Writer session, which holds the lock and the connection of a database.

Both are reopened if either of them is lost.
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from remora.errors import HubDamaged, undo_on_error
from remora.hub.store.hub_database import open_writing, reset, sqlite_errors
from remora.hub.store.owner_lock import OwnerLock, lock_of

Clock = Callable[[], datetime]


class WriterSession:
    """Lock and connection of a writer for the project at `root`.

    Raises HubLocked if another process holds the lock, and DiskError if the database cannot be
    used.
    """

    def __init__(self, path: Path, root: str, clock: Clock) -> None:
        self.path = path
        self.generation = 0
        """Generation when the database was opened or reset."""
        self._root = root
        self._clock = clock
        self._lock = OwnerLock(lock_of(self.path))
        with undo_on_error(self._lock.close):
            self.connection = self._connect()

    def is_elsewhere(self) -> bool:
        """Return True if the database or the lock was deleted or replaced."""
        try:
            return self._lock.is_lost() or _place(self.path) != self._place
        except OSError:
            return True

    def reopen(self) -> None:
        """Acquire the lock and open the database again.

        Raises HubLocked if another process holds the lock.
        """
        if self._lock.is_lost():
            lock = OwnerLock(lock_of(self.path))
            self._lock.close()
            self._lock = lock
        self.connection.close()
        self.connection = self._connect()

    def rebuild(self, generation: int) -> None:
        """Reset the database in place and increase its generation.

        Processes that have the database open see that it was reset.
        """
        self.generation = max(self.generation, generation)
        try:
            with sqlite_errors(self.path):
                self._reset(self.connection)
        except HubDamaged:  # the open file is no longer usable
            self.connection.close()
            self.connection = self._connect()

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self.connection.close()
        self._lock.close()

    def _connect(self) -> sqlite3.Connection:
        connection = open_writing(self.path, self._next_generation())
        with undo_on_error(connection.close), sqlite_errors(self.path):
            self._place = _place(self.path)
            if not self._is_ours(connection):
                self._reset(connection)
        return connection

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """Return True if the database is readable and belongs to this root."""
        try:
            with sqlite_errors(self.path):
                meta = dict(connection.execute("SELECT name, value FROM meta").fetchall())
        except HubDamaged:
            return False
        generation = meta.get("generation")
        if not isinstance(generation, int):
            return False
        self.generation = max(self.generation, generation)
        if "root" not in meta:
            self._name_root(connection)
            return True
        return bool(meta["root"] == self._root)

    def _reset(self, connection: sqlite3.Connection) -> None:
        self.generation = self._next_generation()
        reset(connection, self.generation)
        self._name_root(connection)

    def _name_root(self, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('root', ?)", (self._root,))

    def _next_generation(self) -> int:
        return max(int(self._clock().timestamp() * 1000), self.generation + 1)


def _place(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino
