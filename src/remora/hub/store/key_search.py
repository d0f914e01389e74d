"""Searches for stored node keys by their beginning, without decoding any nodes.

Separate from `reader` because shell completion cannot wait for the import of the analysis.
"""

import sqlite3


def keys_by_prefix(connection: sqlite3.Connection, prefix: str, *, limit: int) -> list[str]:
    """Return the first `limit` keys that start with `prefix`, sorted."""
    rows = connection.execute(
        "SELECT key FROM node_state WHERE key >= ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?",
        (prefix, len(prefix), prefix, limit),
    )
    return [key for (key,) in rows]


def keys_by_qualname(connection: sqlite3.Connection, prefix: str, *, limit: int) -> list[str]:
    """Return the first `limit` keys that contain `prefix` after a colon, sorted.

    These include all keys whose qualname starts with `prefix`.
    """
    rows = connection.execute(
        "SELECT key FROM node_state WHERE instr(key, ?) ORDER BY key LIMIT ?",
        (f":{prefix}", limit),
    )
    return [key for (key,) in rows]
