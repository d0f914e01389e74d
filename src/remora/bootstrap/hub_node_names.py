"""Node names for shell completion, read from the Hub's database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from remora.hub.store.hub_database import open_reading

_MOST = 200
_MODULE = ":__module__"
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
            for key in _keys(connection, beginning)
        ]
        return found or list(dict.fromkeys(_qualnames(connection, typed)))


def _shortened(key: str, beginning: str) -> str:
    """Return a module's key without its qualname, unless the user is typing the qualname."""
    short = key.removesuffix(_MODULE)
    return short if short.startswith(beginning) else key


def _keys(connection: sqlite3.Connection, beginning: str) -> Iterator[str]:
    """Return the keys that start with `beginning`, sorted."""
    rows = connection.execute(
        "SELECT key FROM node_state WHERE key >= ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?",
        (beginning, len(beginning), beginning, _MOST),
    )
    return (key for (key,) in rows)


def _qualnames(connection: sqlite3.Connection, typed: str) -> Iterator[str]:
    """Return the qualnames that start with `typed`."""
    rows = connection.execute(
        "SELECT key FROM node_state WHERE instr(key, ?) ORDER BY key LIMIT ?",
        (f":{typed}", _MOST),
    )
    for (key,) in rows:
        qualname = key.rpartition(":")[2]
        if qualname.startswith(typed) and qualname != _MODULE[1:]:
            yield qualname
