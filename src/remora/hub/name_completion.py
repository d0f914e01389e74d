"""Node names for shell completion, read from the Hub's database.

No node is decoded, because shell completion cannot wait for the import of the analysis.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from remora.hub.store.hub_database import open_reading
from remora.ids import MODULE

_MOST = 200
_MODULE = f":{MODULE}"
_NODE = "node:"


def stored_names(db: Path, typed: str) -> list[str]:
    """Return up to 200 keys or paths that start with `typed`.

    If there are none, return matching qualnames. The list is empty if there is no database.
    """
    connection = open_reading(db)
    if connection is None:
        return []
    with closing(connection):
        prefix = _NODE if typed.startswith(_NODE) else ""
        beginning = _NODE + typed.removeprefix(_NODE)
        found = [
            prefix + _shortened(key, beginning).removeprefix(_NODE)
            for key in _keys_by_prefix(connection, beginning, limit=_MOST)
        ]
        if found:
            return found
        names = (
            key.rpartition(":")[2] for key in _keys_by_qualname(connection, typed, limit=_MOST)
        )
        return list(
            dict.fromkeys(name for name in names if name.startswith(typed) and name != MODULE)
        )


def _shortened(key: str, beginning: str) -> str:
    """Return a module's key without its qualname, unless the user is typing the qualname."""
    short = key.removesuffix(_MODULE)
    return short if short.startswith(beginning) else key


def _keys_by_prefix(connection: sqlite3.Connection, prefix: str, *, limit: int) -> list[str]:
    """Return the first `limit` keys that start with `prefix`, sorted."""
    rows = connection.execute(
        "SELECT key FROM node_state WHERE key >= ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?",
        (prefix, len(prefix), prefix, limit),
    )
    return [key for (key,) in rows]


def _keys_by_qualname(connection: sqlite3.Connection, prefix: str, *, limit: int) -> list[str]:
    """Return the first `limit` keys that contain `prefix` after a colon, sorted.

    These include all keys whose qualname starts with `prefix`.
    """
    rows = connection.execute(
        "SELECT key FROM node_state WHERE instr(key, ?) ORDER BY key LIMIT ?",
        (f":{prefix}", limit),
    )
    return [key for (key,) in rows]
