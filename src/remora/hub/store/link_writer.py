"""Writer for precomputed links. The links are always consistent with one state, the *base*.

The base is the current state or an earlier state of all files. It consists of the stored files,
except that older versions in `unlinked` take precedence. A round first moves the base to the
current state: it deletes outdated rows and empties `unlinked`. Then it adds rows for this base
until every node has links. If a round is interrupted, nothing is lost.
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
_PUT = (
    "INSERT OR REPLACE INTO dependencies SELECT s.id, t.id, ?, ?, ? "
    "FROM link_ends s, link_ends t WHERE s.key = ? AND t.key = ?"
)


class LinkRow(msgspec.Struct, frozen=True, array_like=True):
    """Links of a node, and their encoded inputs."""

    key: str
    reads: bytes
    calls: tuple[Edge, ...]
    imports: tuple[Edge, ...]
    uses: tuple[Edge, ...] = ()


class CarriedRow(msgspec.Struct, frozen=True, array_like=True):
    """Hash of the names that may reach a node, and the encoded inputs of the hash."""

    key: str
    names: bytes
    reads: bytes


class Unlinked(msgspec.Struct, frozen=True, array_like=True):
    """A node whose links could not be computed, and the reason."""

    key: str
    why: str


class Portion(msgspec.Struct, frozen=True, array_like=True):
    """Rows that are written together.

    The stored links are not used as long as any node is in `failed`.
    """

    links: tuple[LinkRow, ...]
    carried: tuple[CarriedRow, ...]
    failed: tuple[Unlinked, ...] = ()


class RoundStart(msgspec.Struct, frozen=True, array_like=True):
    """Start of a round with a new `base`.

    It contains the keys of outdated links, and the new and the deleted `carried` rows.
    """

    base: int
    stale: tuple[str, ...]
    carried: tuple[CarriedRow, ...]
    uncarried: tuple[str, ...]


class LinkWriter:
    """Writes links, using the connection of the database's writer.

    `base` is a generation. Methods raise DiskError if the database cannot be used.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def are_complete(self) -> bool:
        """Return True if the stored links are complete and up to date."""
        with sqlite_errors(self._path):
            return self._meta("links_of") == self._meta("lowered_since")

    def begin(self, beginning: RoundStart) -> bool:
        """Move the base to the state from which the round starts.

        If the stored state is newer, change nothing and return False.
        """
        base = beginning.base
        with sqlite_errors(self._path), transaction(self._connection):
            if self._meta("lowered_since") != base:
                return False
            run, many = self._connection.execute, self._connection.executemany
            stale = [(key,) for key in beginning.stale]
            ends = "(SELECT id FROM link_ends WHERE key = ?)"
            many(f"DELETE FROM dependencies WHERE source = {ends}", stale)  # noqa: S608 - a constant
            many("DELETE FROM linked WHERE source_key = ?", stale)
            many("DELETE FROM carried WHERE key = ?", [(key,) for key in beginning.uncarried])
            self._put_carried(beginning.carried)
            run("DELETE FROM unlinked")
            run("INSERT OR REPLACE INTO meta VALUES ('links_base', ?)", (base,))
        return True

    def put(self, base: int, portion: Portion) -> bool:
        """Add rows for `base`. If the base has moved, change nothing and return False."""
        with sqlite_errors(self._path), transaction(self._connection):
            if self._meta("links_base") != base:
                return False
            many = self._connection.executemany
            rows = list(chain.from_iterable(map(_values, portion.links)))
            ends = {(key,) for row in rows for key in row[-2:]}
            many("INSERT OR IGNORE INTO link_ends (key) VALUES (?)", sorted(ends))
            many(_PUT, rows)
            many(
                "INSERT OR REPLACE INTO linked VALUES (?, ?)",
                [(row.key, row.reads) for row in portion.links],
            )
            self._put_carried(portion.carried)
        return True

    def end(self, base: int) -> bool:
        """Start using the stored links and return True.

        If any node has no links or the stored state has changed, change nothing and return False.
        """
        with sqlite_errors(self._path), transaction(self._connection):
            if not base == self._meta("links_base") == self._meta("lowered_since"):
                return False
            run = self._connection.execute
            missing = "SELECT 1 FROM node_state WHERE key NOT IN (SELECT source_key FROM linked)"
            if run(missing).fetchone():
                return False
            used = "SELECT source FROM dependencies UNION SELECT target FROM dependencies"
            run(f"DELETE FROM link_ends WHERE id NOT IN ({used})")  # noqa: S608 - a constant
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
    for kind, edges in (("call", row.calls), ("import", row.imports), ("", row.uses)):
        for edge in edges:
            lines = _encode(edge.lines).decode()
            yield kind or edge.kind, edge.tier, lines, row.key, edge.key
