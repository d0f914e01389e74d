"""Node names for shell completion, read from the Hub's database.

No node is decoded, because shell completion cannot wait for the import of the analysis.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from remora.hub.store.hub_database import open_reading
from remora.ids import MODULE

_MOST = 200
"""Names that a shell is given (decision)."""
_MODULE = f":{MODULE}"
_NODE = "node:"
_BY_PREFIX = (
    "SELECT key FROM node_state WHERE key >= ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?"
)
_BY_QUALNAME = "SELECT key FROM node_state WHERE instr(key, ?) ORDER BY key LIMIT ?"


def stored_names(db: Path, typed: str) -> list[str]:
    """Return up to 200 keys or paths that start with `typed`.

    If there are none, return matching qualnames. The list is empty if there is no database.
    """
    connection = open_reading(db)
    if connection is None:
        return []
    with closing(connection):
        return _names_by_prefix(connection, typed) or _names_by_qualname(connection, typed)


def _names_by_prefix(connection: sqlite3.Connection, typed: str) -> list[str]:
    prefix = _NODE if typed.startswith(_NODE) else ""
    beginning = _NODE + typed.removeprefix(_NODE)
    keys = connection.execute(_BY_PREFIX, (beginning, len(beginning), beginning, _MOST))
    return [prefix + _shortened(key, beginning).removeprefix(_NODE) for (key,) in keys]


def _names_by_qualname(connection: sqlite3.Connection, typed: str) -> list[str]:
    keys = connection.execute(_BY_QUALNAME, (f":{typed}", _MOST))
    names = dict.fromkeys(key.rpartition(":")[2] for (key,) in keys)
    return [name for name in names if name.startswith(typed) and name != MODULE]


def _shortened(key: str, beginning: str) -> str:
    """Return a module's key without its qualname, unless the user is typing the qualname."""
    short = key.removesuffix(_MODULE)
    return short if short.startswith(beginning) else key
