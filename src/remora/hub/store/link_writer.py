"""Precomputed link rows, always consistent with one stored state, the base.

The *base* is a state of all files: the stored files, with the older versions from `unlinked`. A
round first moves the base to the current state by deleting outdated rows and emptying `unlinked`.
Then it adds rows for this base until every node has links. An interrupted round loses nothing.
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
    """Links of one node, and their encoded inputs."""

    key: str
    reads: bytes
    calls: tuple[Edge, ...]
    imports: tuple[Edge, ...] = ()


class CarriedRow(msgspec.Struct, frozen=True, array_like=True):
    """Hash of the names that may reach a node, and the encoded inputs of that result."""

    key: str
    names: bytes
    reads: bytes


class Unlinked(msgspec.Struct, frozen=True, array_like=True):
    """A node whose links could not be computed, and the reason."""

    key: str
    why: str


class Portion(msgspec.Struct, frozen=True, array_like=True):
    """Rows written together. As long as any node is in `failed`, stored links are not used."""

    links: tuple[LinkRow, ...]
    carried: tuple[CarriedRow, ...]
    failed: tuple[Unlinked, ...] = ()


class RoundStart(msgspec.Struct, frozen=True, array_like=True):
    """Start of a round with a new `base`: outdated links, new and deleted `carried` rows."""

    base: int
    stale: tuple[str, ...]
    carried: tuple[CarriedRow, ...]
    uncarried: tuple[str, ...]


class LinkWriter:
    """Writes links on the writer's connection; `base` is a generation. Raises DiskError."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def complete(self) -> bool:
        """True if the stored links are complete and in use."""
        with sqlite_errors(self._path):
            return self._meta("links_of") == self._meta("lowered_since")

    def begin(self, beginning: RoundStart) -> bool:
        """Move the base. Return False and change nothing if the stored state is newer."""
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
        """Add rows for a base. Return False and change nothing if the base has moved."""
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
        """Use the stored links from now on, if all nodes have links and nothing changed."""
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
