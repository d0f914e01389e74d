"""Trace folder in the user's cache that holds copies of the streams in a database.

All readers work on files. Before a stream is read, its new lines are copied.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from remora.config.user_folders import make_private
from remora.errors import NotFound, StreamDamaged
from remora.ids import is_id
from remora.memory.events import AgentEnd, Event
from remora.trace.content.byte_source import FileSource
from remora.trace.content.line_format import newline_before, stated_hash, valid_hash
from remora.trace.content.private_files import disk_errors, open_file, open_folder, write_all
from remora.trace.postgres.contents import PostgresObjectStore
from remora.trace.postgres.database import Database
from remora.trace.postgres.stream_lines import StreamKey, read_pages
from remora.trace.read.reader import last_event
from remora.trace.stream_lock import forget_lease, note_lease
from remora.trace.trace_folder import STREAM_SUFFIX, TraceFolder, stream_id, stream_paths

_ROWS = """
SELECT id, name, month, next_seq, head, bytes,
    CASE WHEN owner IS NOT NULL AND lease_until > clock_timestamp()
    THEN extract(epoch FROM lease_until - clock_timestamp())::float ELSE 0 END
FROM streams WHERE project = %(project)s
"""


class _Row(NamedTuple):
    """The row of a stream. `lease_s` is the rest of its writer's lease in seconds."""

    id: int
    name: str
    month: Any
    next_seq: int
    head: str
    bytes: int
    lease_s: float


class CopiedTraceFolder(TraceFolder):
    """Copies of one project's streams and contents. It can be deleted at any time."""

    is_copy = True

    def __init__(self, root: Path, path: Path, database: Database, project: str) -> None:
        super().__init__(root, path)
        self._database = database
        self._project = project
        self.blobs = PostgresObjectStore(self.blobs.folder, database, "blobs", packs=True)
        self.objects = PostgresObjectStore(self.objects.folder, database, "objects")

    def create(self) -> None:
        with disk_errors(self.path.parent):
            make_private(self.path.parent)
        super().create()

    def find_agent(self, agent_id: str) -> Path | None:
        self.refresh(self.traces / f"{agent_id}{STREAM_SUFFIX}")
        return super().find_agent(agent_id)

    def find_run(self, run_id: str) -> Path | None:
        self.refresh(self.runs / f"{run_id}{STREAM_SUFFIX}")
        return super().find_run(run_id)

    def agent_streams(self) -> Iterator[Path]:
        self._refresh_all("traces")
        return super().agent_streams()

    def run_streams(self) -> Iterator[Path]:
        self._refresh_all("runs")
        return super().run_streams()

    def refresh(self, path: Path) -> None:
        """Copy the new lines of a stream. A stream that has ended is not looked up again.

        Raises DatabaseError, DiskError, and StreamDamaged if the database has lost or changed lines
        that were copied before.
        """
        if not is_id(stream_id(path)):
            return
        last = _last_copied(path)
        if last is not None and last.type == AgentEnd.type:
            return
        for row in self._rows("AND name = %(name)s", f"{path.parent.name}/{stream_id(path)}"):
            self._copy(row, path)

    def recopy(self, path: Path | None = None) -> None:
        """Copy a stream, or all streams, again, after checking that the database has lost nothing.

        Raises whatever `refresh` raises.
        """
        paths = (*self.agent_streams(), *self.run_streams()) if path is None else (path,)
        for each in paths:
            self.refresh(each)
            _remove_copy(each)
            self.refresh(each)

    def wait(self, seconds: float) -> None:
        """Wait until the database announces new events. At most, wait ten times as long, because an
        announcement can get lost.
        """
        self._database.wait(10 * seconds)

    def _refresh_all(self, kind: str) -> None:
        known = set()
        for row in self._rows("AND starts_with(name, %(name)s)", f"{kind}/"):
            path = self.path / f"{row.name}{STREAM_SUFFIX}"
            known.add(path)
            self._copy(row, path)
        for path in stream_paths(self.path / kind):
            if path not in known:  # its run has expired
                _remove_copy(path)

    def _rows(self, condition: str, name: str) -> list[_Row]:
        query, values = f"{_ROWS} {condition}", {"project": self._project, "name": name}
        rows = self._database.run(lambda connection: connection.execute(query, values).fetchall())
        return [_Row(*row) for row in rows]

    def _copy(self, row: _Row, path: Path) -> None:
        with disk_errors(path):
            if row.lease_s > 0:
                note_lease(path, row.lease_s)
            else:
                forget_lease(path)
            with suppress(FileNotFoundError):
                if path.stat().st_size == row.bytes:
                    return
        with _opened_copy(path) as file:
            last = _last_copied(path)
            if last is None:
                os.ftruncate(file, 0)
            count, head = (0, "0" * 64) if last is None else (last.seq + 1, last.hash)
            if row.next_seq < count:
                raise self._lost(row, path, count)
            key = StreamKey(row.id, row.month)
            for page in read_pages(self._database, key, count, row.next_seq):
                if valid_hash(page[: page.index(b"\n")], head) is None:
                    raise self._changed(row, path)
                head = stated_hash(page[page.rfind(b"\n", 0, -1) + 1 : -1]) or ""
                write_all(file, page)

    def _lost(self, row: _Row, path: Path, count: int) -> StreamDamaged:
        return StreamDamaged(
            f"{row.name} had {count} lines and now has {row.next_seq} in {self._database.address}: "
            "the database has lost the last ones, for example in a failover",
            hint=f"{path} still holds them; move it away to continue without them",
        )

    def _changed(self, row: _Row, path: Path) -> StreamDamaged:
        return StreamDamaged(
            f"{row.name} in {self._database.address} does not continue the lines copied before",
            hint=f"compare it with {path}, then move that file away",
        )


@contextmanager
def _opened_copy(path: Path) -> Iterator[int]:
    """Open a copy for appending, locked against other processes that copy, and without an
    unfinished last line.
    """
    with disk_errors(path), ExitStack() as stack:
        folder = open_folder(path.parent)
        stack.callback(os.close, folder)
        fcntl.flock(folder, fcntl.LOCK_EX)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        file = open_file(path.name, flags, folder=folder)
        stack.callback(os.close, file)
        source = FileSource(file)
        os.ftruncate(file, newline_before(source, source.size()) + 1)
        yield file


def _last_copied(path: Path) -> Event | None:
    """Return the last event of a copy, or None if there is none or the copy is damaged."""
    with suppress(NotFound, StreamDamaged):
        return last_event(path)
    return None


def _remove_copy(path: Path) -> None:
    with disk_errors(path):
        forget_lease(path)
        path.unlink(missing_ok=True)
