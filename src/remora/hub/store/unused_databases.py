"""Detection of unused Hub databases in the user's cache."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from remora.hub.store.database_check import is_foreign
from remora.hub.store.owner_lock import is_lock, lock_of, owner
from remora.ids import unescape_path

_DAEMON = ".daemon"


def orphaned_databases(folder: Path) -> Iterator[Path]:
    """Yield the folders of idle databases whose root no longer exists."""
    with suppress(OSError):
        for place in sorted(folder.iterdir()):
            root = _root_of(place / "hub.db")
            if root is not None and not os.path.lexists(root) and is_idle(place / "hub.db"):
                yield place


def _root_of(db: Path) -> Path | None:
    with suppress(OSError, sqlite3.Error):
        if db.is_symlink() or not db.is_file() or is_foreign(db):
            return None
        name = quote(os.fsencode(db.absolute()))
        # immutable: creates no log or lock
        with closing(sqlite3.connect(f"file:{name}?mode=ro&immutable=1", uri=True)) as connection:
            found = connection.execute("SELECT value FROM meta WHERE name = 'root'").fetchone()
            return Path(unescape_path(found[0])) if found else None
    return None


def is_idle(db: Path) -> bool:
    """Return True if neither a writer nor a daemon is using the database. Nothing is written."""
    locks = (lock_of(db), db.with_name(db.name + _DAEMON))
    return all(
        not os.path.lexists(lock) or (is_lock(lock) and owner(lock) is None) for lock in locks
    )
