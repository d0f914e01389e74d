"""Object store whose contents are in PostgreSQL, with copies in a folder."""

from collections.abc import Iterator
from pathlib import Path

from remora.trace.content.objects import ObjectStore, is_sha256
from remora.trace.postgres.database import Connection, Database

_STORED = """
SELECT encode(digest, 'hex') FROM contents
WHERE month = date_trunc('month', now() AT TIME ZONE 'UTC')::date AND kind = %s
    AND digest = ANY (%s)
"""
_STORE = """
INSERT INTO contents (kind, digest, content) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING
"""
_FETCH = "SELECT content FROM contents WHERE kind = %s AND digest = %s ORDER BY month DESC LIMIT 1"


class PostgresObjectStore(ObjectStore):
    """Stores contents in a database when `sync` is called, and reads them from there if the folder
    has no copy.

    A content is stored again in each month in which it is put, because it is kept as long as the
    streams of that month. Copies are checked against their hashes like other objects.
    """

    def __init__(self, folder: Path, database: Database, kind: str, *, packs: bool = False) -> None:
        super().__init__(folder, packs=packs)
        self._database = database
        self._kind = kind

    def pieces(self, digest: str) -> Iterator[bytes]:
        self._fetch(digest)
        return super().pieces(digest)

    def problem(self, digest: object) -> str | None:
        """Return a description of the damage to the content in the database, or None."""
        if isinstance(digest, str) and is_sha256(digest):
            self.drop_copy(digest)
            self._fetch(digest)
        return super().problem(digest)

    def drop_copy(self, digest: str) -> None:
        """Remove the copy in the folder, if there is one."""
        (self.folder / digest[:2] / digest).unlink(missing_ok=True)

    def _fetch(self, digest: str) -> None:
        """Copy a content to the folder if it is missing there. A content with another hash is
        copied under its own name, so it stays missing.
        """
        if not is_sha256(digest) or (self.folder / digest[:2] / digest).exists():
            return
        wanted = [self._kind, bytes.fromhex(digest)]
        row = self._database.run(
            lambda connection: connection.execute(_FETCH, wanted, binary=True).fetchone()
        )
        if row is not None:
            self.put(row[0])
            with self._lock:
                self._unsynced.discard(digest)

    def _sync_waiting(self) -> None:
        with self._lock:
            waiting = set(self._unsynced)
        if not waiting:
            return
        contents = {
            digest: b"".join(super(PostgresObjectStore, self).pieces(digest)) for digest in waiting
        }
        self._database.run(lambda connection: self._store(connection, contents))
        with self._lock:
            self._unsynced -= waiting
            self._safe |= waiting

    def _store(self, connection: Connection, contents: dict[str, bytes]) -> None:
        wanted = [bytes.fromhex(digest) for digest in contents]
        rows = connection.execute(_STORED, [self._kind, wanted]).fetchall()
        known = {row[0] for row in rows}
        for digest, content in contents.items():
            if digest not in known:
                connection.execute(_STORE, [self._kind, bytes.fromhex(digest), content])
