"""Databases in the user's cache whose project is not there any more."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from remora.errors import OutsideError
from remora.hub.store.file_guard import is_foreign
from remora.hub.store.owner_lock import Ownership, lock_of
from remora.ids import unspell_path

_DAEMON = ".daemon"


def gone_databases(folder: Path) -> Iterator[Path]:
    """The folders beneath `folder` whose database names a root that is not there. One that cannot
    be read stays, and so does one that is in use."""
    with suppress(OSError):
        for place in sorted(folder.iterdir()):
            root = _root_of(place / "hub.db")
            if root is not None and not os.path.lexists(root) and _is_idle(place / "hub.db"):
                yield place


def _root_of(db: Path) -> Path | None:
    with suppress(OSError, sqlite3.Error):
        if db.is_symlink() or not db.is_file() or is_foreign(db):
            return None
        name = quote(os.fsencode(db.absolute()))
        # immutable: our look leaves no log and no lock
        with closing(sqlite3.connect(f"file:{name}?mode=ro&immutable=1", uri=True)) as connection:
            found = connection.execute("SELECT value FROM meta WHERE name = 'root'").fetchone()
            return Path(unspell_path(found[0])) if found else None
    return None


def _is_idle(db: Path) -> bool:
    """Whether no process holds the database, or serves it."""
    for lock in (lock_of(db), db.with_name(db.name + _DAEMON)):
        if os.path.lexists(lock):
            try:
                Ownership(lock).close()
            except OutsideError:
                return False
    return True
