"""HubStore, which is the only writer of the database."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Self

import msgspec

from remora.code.ir.model import decode_names
from remora.errors import DiskError, HubDamaged, undo_on_error
from remora.files.disposable_sqlite import transaction
from remora.hub.file_stamp import Stamp
from remora.hub.store.batch import Applied, Batch, StoredFile, find_differences
from remora.hub.store.batch_writer import BatchWriter
from remora.hub.store.file_rows import FileRow, stamp_values
from remora.hub.store.hub_database import sqlite_errors
from remora.hub.store.link_writer import LinkWriter
from remora.hub.store.reader import SharedState, StoredSnapshot
from remora.hub.store.writer_session import Clock, WriterSession
from remora.ids import escape_path, unescape_path

_STAMPS_AT_ONCE = 256

_FILE = (
    "SELECT id, file_hash, partial, detail, lowered "
    "FROM file_index JOIN file_facts ON file = id WHERE path = ?"
)


class Counts(NamedTuple):
    """Number of stored files and nodes."""

    files: int
    nodes: int


class HubStore:
    """The only writer of a database, until `close`.

    Instances may be used by only one thread at a time. Methods raise DiskError if the database
    cannot be used. A damaged or deleted database is reset, which is reported by `Applied.rebuilt`.
    """

    def __init__(self, db: Path, *, root: Path, clock: Clock) -> None:
        """Open or create the database of the project at `root`.

        Raises HubLocked if another process is writing to the database, and DiskError if it cannot
        be opened.
        """
        self._db = db
        self._clock = clock
        self._damage: list[HubDamaged] = []
        self._unwritten: dict[str, Stamp | None] = {}
        self._session = WriterSession(db, escape_path(str(root)), clock)
        with undo_on_error(self._session.close):
            self._begin_or_rebuild()

    @property
    def generation(self) -> int:
        """Current generation.

        It never decreases, and it increases with each transaction that changes a fact.
        """
        return self._generation

    def view(self) -> StoredSnapshot:
        """Return a snapshot of the stored state. It is valid until `close`."""
        return StoredSnapshot(self._connection, self._db, self._shared)

    def files(self) -> Mapping[str, FileRow]:
        """Return the stored rows of all files by raw path, with their latest known Stamps."""
        return MappingProxyType(self._rows)

    def counts(self) -> Counts:
        with sqlite_errors(self._db):
            (nodes,) = self._connection.execute("SELECT count(*) FROM node_state").fetchone()
        return Counts(len(self._rows), nodes)

    def apply(self, batch: Batch) -> Applied:
        """Store a batch in one transaction. Nothing is written if nothing has changed."""
        rebuilt = self._rebuild_if_damaged()
        try:
            with sqlite_errors(self._db):
                return self._applied(batch, rebuilt=rebuilt)
        except HubDamaged:
            self.rebuild()
            with sqlite_errors(self._db):
                return self._applied(batch, rebuilt=True)

    def seen(self, path: str, stamp: Stamp | None) -> None:
        """Record the Stamp of the stored file at a raw path.

        The Stamp is kept in memory, and is written later with another change.
        """
        row = self._rows[path]
        if row.stamp != stamp:
            self._rows[path] = row._replace(stamp=stamp)
            self._unwritten[path] = stamp

    def links(self) -> LinkWriter:
        """Return the link writer. It is valid until the next `apply`, `rebuild` or `close`."""
        return LinkWriter(self._connection, self._db)

    def changed_since(self, generation: int) -> tuple[tuple[str, ...], bool]:
        """Return the keys of nodes changed after `generation`, and whether the list is complete."""
        with sqlite_errors(self._db):
            row = self._connection.execute(
                "SELECT value FROM meta WHERE name = 'logged_from'"
            ).fetchone()
            if not row[0] <= generation <= self._generation:
                return (), False
            rows = self._connection.execute(
                "SELECT DISTINCT key FROM changes WHERE generation > ? ORDER BY key", (generation,)
            )
            return tuple(key for (key,) in rows), True

    def rebuild(self) -> None:
        """Reset the database. It becomes empty for other processes that have it open, too."""
        self._session.rebuild(self._generation)
        self._begin()

    def close(self) -> None:
        """Close the database. If damage was found, reset it first."""
        if self._damage:
            with suppress(DiskError):
                self.rebuild()
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin_or_rebuild(self) -> None:
        try:
            self._begin()
        except HubDamaged:
            self._session.rebuild(self._session.generation)
            self._begin()

    def _begin(self) -> None:
        self._damage.clear()
        self._connection = self._session.connection
        self._shared = SharedState(self._damage)
        view = self.view()
        self._generation = view.generation
        self._rows = dict(view.files())
        self._unwritten.clear()

    def _rebuild_if_damaged(self) -> bool:
        """Rebuild the database if it was damaged or replaced.

        Returns True if the database was rebuilt.
        """
        if self._session.is_elsewhere():
            self._session.reopen()
            self._begin()
            return True
        if self._damage:
            self.rebuild()
            return True
        return False

    def _applied(self, batch: Batch, *, rebuilt: bool) -> Applied:
        paths = (*(update.facts.path for update in batch.updates), *batch.gone)
        before = {
            path: self._stored_file(path) for path in paths if unescape_path(path) in self._rows
        }
        changed = find_differences(batch, before)
        keys: tuple[str, ...] = ()
        if changed:
            writing = BatchWriter(self._connection, changed, batch.source, self._clock())
            for difference in changed:
                self._unwritten.pop(unescape_path(difference.path), None)
            with transaction(self._connection):
                keys = writing.write(self._generation + 1)
                written = self._write_stamps()
            self._generation += 1
            for path in written:
                self._unwritten.pop(path)
        self._update_rows(batch, {difference.path for difference in changed})
        return Applied(generation=self._generation, changed=keys, rebuilt=rebuilt)

    def _stored_file(self, path: str) -> StoredFile:
        """Return the rows of a stored file. Raises HubDamaged if they are not readable."""
        lost = HubDamaged(f"the Hub's database has no readable row for {path}")
        if (row := self._connection.execute(_FILE, (path,)).fetchone()) is None:
            raise lost
        id_, file_hash, partial, detail, lowered = row
        try:
            names = frozenset(decode_names(lowered))
        except msgspec.MsgspecError as error:
            raise lost from error
        nodes = {str(node.facts.key): node for node in self.view().nodes(path)}
        return StoredFile(id_, file_hash, bool(partial), detail, nodes, names, lowered)

    def _write_stamps(self) -> list[str]:
        """Write some pending Stamps within another transaction. Return the paths of the files."""
        paths = list(self._unwritten)[:_STAMPS_AT_ONCE]
        self._connection.executemany(
            "UPDATE file_index SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE path = ?",
            [(*stamp_values(self._unwritten[path]), escape_path(path)) for path in paths],
        )
        return paths

    def _update_rows(self, batch: Batch, written: set[str]) -> None:
        for path in map(unescape_path, batch.gone):
            self._rows.pop(path, None)
            self._unwritten.pop(path, None)
        for update in batch.updates:
            path = unescape_path(update.facts.path)
            if update.facts.path in written:
                self._rows[path] = FileRow(update.stamp, update.facts.file_hash)
                self._unwritten.pop(path, None)
            else:
                self.seen(path, update.stamp)
