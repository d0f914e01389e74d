"""Cached snapshot of a database. The database file may be replaced at any time."""

from pathlib import Path

from remora.errors import DiskError
from remora.hub.store.ir_cache import IrCache
from remora.hub.store.reader import StoredSnapshot, open_snapshot


class NewestView:
    """Opens the snapshot on demand.

    An instance may be used by one thread only, but `lowered` may be shared by threads.
    """

    def __init__(self, db: Path, lowered: IrCache) -> None:
        self._db = db
        self._lowered = lowered
        self._view: StoredSnapshot | None = None
        self._place = (0, 0)

    def view(self) -> StoredSnapshot:
        """Return the snapshot of the current file.

        Raises DiskError if the file is missing or cannot be read.
        """
        try:
            found = self._db.stat()
        except OSError as error:
            raise DiskError(f"{self._db}: {error.strerror}") from error
        if self._view is None or self._place != (found.st_dev, found.st_ino):
            self.close()
            self._view = open_snapshot(self._db, self._lowered)
            self._place = found.st_dev, found.st_ino
        if self._view is None:
            raise DiskError(f"{self._db} cannot be read")
        return self._view

    def close(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None
