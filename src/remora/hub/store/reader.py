"""StoredSnapshot, which reads the database row by row. Only decoded files are cached."""

import math
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from sys import intern
from typing import Any, TypeVar, get_args

import msgspec

from remora.code.callgraph.files.program_protocol import OutOfTimeError
from remora.code.ir.model import LoweredFile
from remora.code.links import TIER_RANK, Edge, Kind
from remora.errors import DiskError, HubDamaged
from remora.hub.file_stamp import Stamp
from remora.hub.lookup.search import best_matches, split_words
from remora.hub.query.snapshots import StoredNode
from remora.hub.store.file_rows import NODE_COLUMNS, FileRow, stored_node
from remora.hub.store.hub_database import open_reading, to_hub_error
from remora.hub.store.ir_cache import IrCache
from remora.ids import unescape_path

_NODE = f"SELECT {NODE_COLUMNS} FROM node_state "  # noqa: S608 - a constant
_LOWERED = "SELECT file_hash, lowered FROM file_index JOIN file_facts ON file = id WHERE path = ?"
_WRONG = (sqlite3.Error, msgspec.MsgspecError)
_T = TypeVar("_T")

_LINES = msgspec.json.Decoder(tuple[int, ...])
# one statement reads one state; if the links are complete, it returns at least one row
_ASK = (
    "SELECT (SELECT key FROM link_ends WHERE id = {end}), tier, lines, kind FROM (SELECT 1) "
    "LEFT JOIN dependencies ON {start} = (SELECT id FROM link_ends WHERE key = ?) "
    "AND instr(?, kind) WHERE (SELECT value FROM meta WHERE name = 'links_of') "
    "= (SELECT value FROM meta WHERE name = 'lowered_since')"
)
_FORWARD = _ASK.format(start="source", end="target")
_BACKWARD = _ASK.format(start="target", end="source")
_LINKS = {
    "callers": (_BACKWARD, "call"),
    "callees": (_FORWARD, "call"),
    "importers": (_BACKWARD, "import"),
    "uses": (_BACKWARD, "constant inherit override passed to reference"),
}
"""Maps methods of the linker to the direction and the kinds of their results."""
_SHOWN: dict[str, Kind] = {"import": "reference", **{kind: kind for kind in get_args(Kind)}}


class _StoredLinks:
    """Precomputed links.

    `stored` returns None unless all links of the latest state are stored.
    """

    def __init__(
        self, ask: Callable[..., list[tuple[Any, ...]]], damaged: Callable[[Exception], Exception]
    ) -> None:
        self._ask = ask
        self._damaged = damaged

    def are_complete(self) -> bool:
        """Return True if all links of the latest state are stored."""
        return bool(self._ask(_FORWARD, "", ""))

    def stored(self, name: str, key: str) -> tuple[Edge, ...] | None:
        """Return the stored result of `Linker.<name>`."""
        sql, kinds = _LINKS[name]
        if not (rows := self._ask(sql, key, kinds)):
            return None
        try:
            found = [(a, b, _LINES.decode(c), _SHOWN[d]) for a, b, c, d in rows if a]
            edges = [Edge(key=a, tier=b, lines=c, kind=d) for a, b, c, d in found]
            edges.sort(key=lambda edge: (edge.kind, TIER_RANK[edge.tier], edge.key))
        except (msgspec.MsgspecError, KeyError) as error:
            raise self._damaged(error) from error
        return tuple(edges)


class SharedState:
    """State that is shared by the snapshots of a database.

    It consists of decoded files, paths, and detected damage.
    """

    def __init__(self, damage: list[HubDamaged], lowered: IrCache | None = None) -> None:
        self.damage = damage
        self.lowered = IrCache() if lowered is None else lowered
        self.paths: tuple[int, frozenset[str]] = (-1, frozenset())
        """All paths, and the generation from which on they are valid."""


class StoredSnapshot:
    """The current state of the database.

    No transaction stays open, so the write-ahead log stays short. Every method raises HubDamaged if
    the content is invalid, and DiskError if the database cannot be read. Instances may be used by
    only one thread at a time.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, shelf: SharedState) -> None:
        self.clock: Callable[[], float] = time.monotonic
        self.deadline = math.inf
        """Time of `clock` after which every method raises OutOfTimeError."""
        self._connection = connection
        self._path = path
        self._shared = shelf

    @property
    def generation(self) -> int:
        """Generation of the last write."""
        return self._meta("generation")

    def files(self) -> Mapping[str, FileRow]:
        """Return the stored rows of all files by raw path."""
        rows = self._all("SELECT path, size, mtime_ns, ctime_ns, inode, file_hash FROM file_index")
        return {
            unescape_path(path): FileRow(None if stamp[0] is None else Stamp(*stamp), file_hash)
            for path, *stamp, file_hash in rows
        }

    def partial(self) -> dict[str, str]:
        """Return the reasons why files were read only partially, keyed by raw path."""
        rows = self._all("SELECT path, detail FROM file_index WHERE partial ORDER BY path")
        return {unescape_path(path): detail for path, detail in rows}

    def paths(self) -> Collection[str]:
        since = self._meta("paths_since")
        if self._shared.paths[0] != since:
            rows = self._all("SELECT path FROM file_index")
            self._shared.paths = since, frozenset(intern(row[0]) for row in rows)
        return self._shared.paths[1]

    def lowered(self, path: str) -> LoweredFile | None:
        row = self._first_row("SELECT file_hash FROM file_index WHERE path = ?", path)
        if row is None:
            return None
        if (cached := self._shared.lowered.get((path, row[0]))) is not None:
            return cached
        # one statement for both: newer content must not be cached under the older hash
        row = self._first_row(_LOWERED, path)
        try:
            return None if row is None else self._shared.lowered.decode((path, row[0]), row[1])
        except _WRONG as error:
            raise self._damage_error(error) from error

    def check_time(self) -> None:
        if self.clock() > self.deadline:
            raise OutOfTimeError

    def mentioning(self, name: str) -> Collection[str]:
        rows = self._all(
            "SELECT path FROM mentions JOIN file_index ON file = id WHERE name = ? ORDER BY path",
            name,
        )
        # interned, because thousands of such lists with the same few paths are in memory
        return tuple(intern(row[0]) for row in rows)

    def node(self, key: str) -> StoredNode | None:
        row = self._first_row(f"{_NODE} WHERE key = ?", key)
        return None if row is None else self._node(row)

    def nodes(self, path: str) -> tuple[StoredNode, ...]:
        rows = self._all(
            # `;` comes after `:`; longer paths with a `:` are also in this range
            f"{_NODE} WHERE key BETWEEN ? AND ? AND file_path = ? ORDER BY place",
            f"node:{path}:",
            f"node:{path};",
            path,
        )
        return tuple(map(self._node, rows))

    def search(self, query: str, limit: int) -> list[StoredNode]:
        if not (words := split_words(query)):
            return []
        # SQLite's `lower` handles only A to Z, like `split_words`
        longest = max(words, key=len).decode("utf-8", "surrogatepass")
        if not longest.isprintable():
            return []
        rows = self._all("SELECT key FROM node_state WHERE instr(lower(key), ?)", longest)
        nodes = map(self.node, best_matches((row[0] for row in rows), query, limit))
        return [node for node in nodes if node is not None]

    def keys(self) -> Iterator[str]:
        return (row[0] for row in self._all("SELECT key FROM node_state ORDER BY key"))

    def links(self) -> _StoredLinks:
        return _StoredLinks(self._all, self._damage_error)

    def linked(self) -> tuple[int, int]:
        """Return the number of nodes with stored links and the total number of nodes."""
        sql = "SELECT (SELECT count(*) FROM linked), (SELECT count(*) FROM node_state)"
        found, nodes = self._all(sql)[0]
        return min(found, nodes), nodes

    def close(self) -> None:
        self._connection.close()

    def _node(self, row: tuple[Any, ...]) -> StoredNode:
        try:
            return stored_node(row)
        except sqlite3.Error as error:
            raise self._damage_error(error) from error

    def _meta(self, name: str) -> int:
        row = self._first_row("SELECT value FROM meta WHERE name = ?", name)
        if row is None or not isinstance(row[0], int):
            raise self._damage_error(sqlite3.DatabaseError(f"it has no {name}"))
        return row[0]

    def _first_row(self, sql: str, *values: str | int) -> tuple[Any, ...] | None:
        rows = self._all(sql, *values)
        return rows[0] if rows else None

    def _all(self, sql: str, *values: str | int) -> list[tuple[Any, ...]]:
        self.check_time()
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise self._to_hub_error(error) from error
        except UnicodeEncodeError:  # lone surrogates are never stored
            return []

    def _damage_error(self, error: Exception) -> DiskError:
        return self._to_hub_error(sqlite3.DatabaseError(str(error)))

    def _to_hub_error(self, error: sqlite3.Error) -> DiskError:
        ours = to_hub_error(error, self._path)
        if isinstance(ours, HubDamaged):
            self._shared.damage[:] = [ours]
        return ours


def open_snapshot(db: Path, lowered: IrCache | None = None) -> StoredSnapshot | None:
    """Open the database for reading, or return None if it is not usable.

    Several snapshots may share `lowered`.
    """
    connection = open_reading(db)
    return None if connection is None else StoredSnapshot(connection, db, SharedState([], lowered))


def read_snapshot(db: Path, query: Callable[[StoredSnapshot], _T]) -> _T | None:
    """Return the result of `query`, or None if the database is not usable."""
    if (view := open_snapshot(db)) is None:
        return None
    with closing(view):
        return query(view)
