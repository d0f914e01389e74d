"""Links as rows, written while others edit: what stands there is always right for one state.

That state, the *base*, is what is stored with the files in `unlinked` as they stand there. A round
of linking begins by moving the base to what is stored now: rows that the changes touch go, and so
does what stood in `unlinked`. After that rows of that state are added, whatever is edited
meanwhile, until every node has its own. A round that is left in the middle loses nothing.
"""

import sqlite3
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import msgspec

from remora.code.links import Edge
from remora.files.disposable_sqlite import transaction
from remora.hub.store.hub_database import sqlite_errors

_encode = msgspec.json.Encoder().encode
_PUT = "INSERT OR REPLACE INTO dependencies VALUES (?, ?, ?, ?, ?)"


class LinkRow(msgspec.Struct, frozen=True, array_like=True):
    """What was found of one node: its links, and the inputs (encoded) that they were found from."""

    key: str
    reads: bytes
    calls: tuple[Edge, ...]
    imports: tuple[Edge, ...] = ()


class CarriedRow(msgspec.Struct, frozen=True, array_like=True):
    """By which names a node may be reached, as a hash, and the inputs that this was found from."""

    key: str
    names: bytes
    reads: bytes


class Unlinked(msgspec.Struct, frozen=True, array_like=True):
    """A node whose links could not be found, and why."""

    key: str
    why: str


class Portion(msgspec.Struct, frozen=True, array_like=True):
    """Rows that are written together: without what was `carried`, links would not be renewed. Of
    those that failed nothing is written: as long as one is missing, links are not told from here."""

    links: tuple[LinkRow, ...]
    carried: tuple[CarriedRow, ...]
    failed: tuple[Unlinked, ...] = ()


class Beginning(msgspec.Struct, frozen=True, array_like=True):
    """`base` is the new one. There the links of the nodes in `stale` do not hold; `carried` takes
    the place of what was, and of the nodes in `uncarried` nothing is noted any more."""

    base: int
    stale: tuple[str, ...]
    carried: tuple[CarriedRow, ...]
    uncarried: tuple[str, ...]


class LinkWriter:
    """For the one writer. Methods raise DiskError, and HubDamaged where it makes no sense.

    `base` names a state by the generation since which the lowered forms are what they are.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def complete(self) -> bool:
        """True if links are answered from the database."""
        with sqlite_errors(self._path):
            return self._meta("links_of") == self._meta("lowered_since")

    def begin(self, beginning: Beginning) -> bool:
        """Move the base. False if what is stored is another state by now: nothing is changed."""
        base = beginning.base
        with sqlite_errors(self._path), transaction(self._connection):
            if self._meta("lowered_since") != base:
                return False
            run, many = self._connection.execute, self._connection.executemany
            stale = [(key,) for key in beginning.stale]
            many("DELETE FROM dependencies WHERE source_key = ?", stale)
            many("DELETE FROM linked WHERE source_key = ?", stale)
            many("DELETE FROM carried WHERE key = ?", [(key,) for key in beginning.uncarried])
            self._put_carried(beginning.carried)
            run("DELETE FROM unlinked")
            run("INSERT OR REPLACE INTO meta VALUES ('links_base', ?)", (base,))
        return True

    def put(self, base: int, portion: Portion) -> bool:
        """Add what was found at the base; False if that is another one: nothing is added."""
        with sqlite_errors(self._path), transaction(self._connection):
            if self._meta("links_base") != base:
                return False
            many = self._connection.executemany
            many(_PUT, chain.from_iterable(map(_values, portion.links)))
            many(
                "INSERT OR REPLACE INTO linked VALUES (?, ?)",
                [(row.key, row.reads) for row in portion.links],
            )
            self._put_carried(portion.carried)
        return True

    def end(self, base: int) -> bool:
        """Answer links from the database from now on, if every node has them and nothing changed."""
        with sqlite_errors(self._path), transaction(self._connection):
            if not base == self._meta("links_base") == self._meta("lowered_since"):
                return False
            run = self._connection.execute
            missing = "SELECT 1 FROM node_state WHERE key NOT IN (SELECT source_key FROM linked)"
            if run(missing).fetchone():
                return False
            run("INSERT OR REPLACE INTO meta VALUES ('links_of', ?)", (base,))
        return True

    def _put_carried(self, rows: Iterable[CarriedRow]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO carried VALUES (?, ?, ?)",
            [(row.key, row.names, row.reads) for row in rows],
        )

    def _meta(self, name: str) -> object:
        row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]


def _values(row: LinkRow) -> Iterable[tuple[str, ...]]:
    for kind, edges in (("call", row.calls), ("import", row.imports)):
        for edge in edges:
            yield row.key, edge.key, kind, edge.tier, _encode(edge.lines).decode()
