"""Check that the file given as `--db` was not created by another program."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from remora.hub.store.owner_lock import is_lock, lock_of

_OUR_TABLES = frozenset({"meta", "file_index", "node_state"})
"""Tables in a Hub database of any version."""


def is_foreign(path: Path) -> bool:
    """Return True if the file at `path` is not a Hub database of any version.

    A missing or empty file is not foreign. Nothing is written.
    """
    try:
        if path.is_file() and path.stat().st_size == 0:
            return False
        tables = _tables(path)
    except FileNotFoundError:
        return False
    except (OSError, sqlite3.Error):
        return os.path.lexists(path) and not is_lock(lock_of(path))
    return not tables >= _OUR_TABLES


def _tables(path: Path) -> set[str]:
    path.lstat()
    name = quote(os.fsencode(path.absolute()))
    # immutable: creates no log or lock next to another program's database
    with closing(sqlite3.connect(f"file:{name}?mode=ro&immutable=1", uri=True)) as connection:
        return {found for (found,) in connection.execute("SELECT name FROM sqlite_master")}
