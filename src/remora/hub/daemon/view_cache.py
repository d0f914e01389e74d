"""A reader's view of a database that may become another file while it is read."""

from pathlib import Path

from remora.errors import DiskError
from remora.hub.store.ir_cache import LoweredCache
from remora.hub.store.reader import StoreView, open_view


class NewestView:
    """Opens the view when it is first needed. Used by one thread; `lowered` may be others' too."""

    def __init__(self, db: Path, lowered: LoweredCache) -> None:
        self._db = db
        self._lowered = lowered
        self._view: StoreView | None = None
        self._place = (0, 0)

    def view(self) -> StoreView:
        """Of the database that lies there now. Raises DiskError where there is none."""
        try:
            found = self._db.stat()
        except OSError as error:
            raise DiskError(f"{self._db}: {error.strerror}") from error
        if self._view is None or self._place != (found.st_dev, found.st_ino):
            self.close()
            self._view = open_view(self._db, self._lowered)
            self._place = found.st_dev, found.st_ino
        if self._view is None:
            raise DiskError(f"{self._db} cannot be read now")
        return self._view

    def close(self) -> None:
        """Let go of it; the next question opens it again."""
        if self._view is not None:
            self._view.close()
            self._view = None
