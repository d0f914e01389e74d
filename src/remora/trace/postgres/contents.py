"""Object store whose contents are in PostgreSQL, with copies in a folder."""

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

from remora.errors import StreamDamaged
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
_FETCH = """
SELECT content FROM contents WHERE kind = %s AND digest = %s ORDER BY month DESC LIMIT 1
"""


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
        if problem := self._fetch(digest):
            raise StreamDamaged(
                f"{digest} in the table contents of {self._database.address} {problem}",
                hint="someone has changed it; restore the database from a backup",
            )
        return super().pieces(digest)

    def problem(self, digest: object) -> str | None:
        """Return a description of the damage to the content in the database, or None."""
        if isinstance(digest, str) and is_sha256(digest):
            self.drop_copy(digest)
            if found := self._fetch(digest):
                return found
        return super().problem(digest)

    def drop_copy(self, digest: str) -> None:
        """Remove the copy in the folder, if there is one."""
        (self.folder / digest[:2] / digest).unlink(missing_ok=True)

    def _fetch(self, digest: str) -> str | None:
        """Copy a content to the folder if it is missing there. Return what is wrong with it, or
        None.
        """
        if not is_sha256(digest) or (self.folder / digest[:2] / digest).exists():
            return None
        wanted = [self._kind, bytes.fromhex(digest)]
        for (content,) in self._database.rows(_FETCH, wanted, binary=True):
            if sha256(content).hexdigest() != digest:
                return "does not match its hash"
            self.put(content)
        with self._lock:
            self._unsynced.discard(digest)
        return None

    def _sync_waiting(self) -> None:
        with self._lock:
            waiting = set(self._unsynced)
        if not waiting:
            return
        wanted = [self._kind, [bytes.fromhex(digest) for digest in waiting]]
        rows = self._database.rows(_STORED, wanted)
        for digest in sorted(waiting.difference(row[0] for row in rows)):
            values = [self._kind, bytes.fromhex(digest), self.get(digest)]
            self._database.run(partial(Connection.execute, query=_STORE, params=values))
        with self._lock:
            self._unsynced -= waiting  # but they are not safe: the next month needs them, too
