"""Links computed ahead in the test's process."""

import sqlite3

import msgspec

from remora.code.ir.model import decode_lowered, encode_lowered
from remora.hub.daemon.link_round import begin_round, find_links
from remora.hub.store.hub_store import HubStore


def link(store: HubStore) -> int:
    """Find whatever links are missing; how many nodes that were."""
    about = begin_round(store._db)
    links, base = store.links(), about.beginning.base
    assert links.begin(about.beginning)
    found = 0
    for portion in find_links(about):
        assert links.put(base, portion)
        found += len(portion.links)
    assert links.end(base)
    return found


ODD = "def odd(x):\n    return x.y()\n"
"""A file to `spoil`."""


def spoil(connection: sqlite3.Connection, path: str) -> None:
    """Let a call in a stored file call the result of a missing call, which nobody can link."""
    (file, stored) = connection.execute(
        "SELECT file, lowered FROM file_facts JOIN file_index ON file = id WHERE path = ?", (path,)
    ).fetchone()
    whole = decode_lowered(stored)
    calls = (msgspec.structs.replace(whole.calls[0], callee=999), *whole.calls[1:])
    spoilt = encode_lowered(msgspec.structs.replace(whole, calls=calls))
    connection.execute("UPDATE file_facts SET lowered = ? WHERE file = ?", (spoilt, file))
