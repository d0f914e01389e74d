"""Trace folder in the user's cache that holds copies of the streams in a database.

All readers work on files. Before a stream is read, its new lines are copied.
"""

import fcntl
import filecmp
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path

from remora.config.user_folders import make_private
from remora.errors import DiskError, NotFound, StreamDamaged, undo_on_error
from remora.ids import is_id
from remora.memory.events import AgentEnd, Event, decode_event
from remora.regular_file import closing_fd
from remora.trace.content.byte_source import FileSource
from remora.trace.content.line_format import newline_before, stated_hash, valid_hash
from remora.trace.content.private_files import disk_errors, open_file, open_inner_folder, write_all
from remora.trace.content.zstd_file import MAX_STREAM
from remora.trace.postgres.contents import PostgresObjectStore
from remora.trace.postgres.database import Database
from remora.trace.postgres.stream_lines import SELECT_ROWS, StreamRow, read_pages, read_streams
from remora.trace.read.reader import last_event
from remora.trace.stream_lock import forget_lease, note_lease
from remora.trace.trace_folder import TraceFolder, stream_id, stream_paths

_BATCH_BYTES = 8 << 20
_FREE_BYTES = 512 << 20
"""Bytes of the disk that copies leave free, however many streams a worker writes."""
_NAMED = "AND name = %(name)s"
_PRUNED = "SELECT name FROM expired WHERE project = %s"
_EXPIRED = "SELECT 1 FROM expired WHERE project = %(project)s AND name = %(name)s"


class CopiedTraceFolder(TraceFolder):
    """Copies of one project's streams and contents. It can be deleted at any time."""

    is_copy = True

    def __init__(self, root: Path, path: Path, database: Database, project: str) -> None:
        super().__init__(root, path)
        self._database = database
        self._project = project
        self._differences: dict[Path, str] = {}  # from copies that were replaced, until `recopy`
        self._errors: dict[Path, str] = {}  # until the stream is copied without an error
        self._invalid_names: dict[str, set[str]] = {}
        self._is_verified = False
        self.blobs = PostgresObjectStore(self.blobs.folder, database, "blobs", packs=True)
        self.objects = PostgresObjectStore(self.objects.folder, database, "objects")

    @property
    def place(self) -> str:
        return self._database.address

    def create(self) -> None:
        with disk_errors(self.path.parent):
            make_private(self.path.parent)
        super().create()

    def find_agent(self, agent_id: str) -> Path | None:
        if is_id(agent_id):
            self.refresh(self.agent_stream(agent_id))
        return super().find_agent(agent_id)

    def find_run(self, run_id: str) -> Path | None:
        if is_id(run_id):
            self.refresh(self.run_stream(run_id))
        return super().find_run(run_id)

    def agent_streams(self) -> Iterator[Path]:
        self._refresh_all("traces")
        return super().agent_streams()

    def run_streams(self) -> Iterator[Path]:
        self._refresh_all("runs")
        return super().run_streams()

    def refresh(self, path: Path) -> None:
        """Copy the new lines of a stream. A stream that has ended is not looked up again, and a file
        outside this folder is not touched.

        Raises DatabaseError, DiskError, and StreamDamaged if the database has lost or changed lines
        that were copied before.
        """
        if path.parent not in (self.traces, self.runs) or not is_id(stream_id(path)):
            return
        last = last_copied(path)
        if last is not None and last.type == AgentEnd.type:
            with self._opened(path) as folder:
                forget_lease(path.name, folder=folder)
            return
        for row in self._rows(_NAMED, _name(path)):
            with self._noted(path, raises=not self._is_verified):
                self._copy(row, path)

    def recopy(self, name: str | None = None) -> None:
        """Copy the stream of an agent or run, or all streams, again. From now on, a stream whose
        copied lines the database has lost or changed is a `copy_problem`, and not an error.

        A copy that differs from the database is kept beside the new one. Raises DatabaseError and
        DiskError.
        """
        self._is_verified = True
        self._differences.clear()
        self._errors.clear()
        if name is None:
            paths = [*self.agent_streams(), *self.run_streams()]
        else:
            paths = [self.agent_stream(name), self.run_stream(name)] if is_id(name) else []
        for path in paths:
            for row in self._rows(_NAMED, _name(path)):
                with self._noted(path):
                    self._copy(row, path)
                    with self._locked(path) as folder:
                        self._replace(row, path, folder)

    def copy_problem(self, path: Path) -> str | None:
        return self._errors.get(path) or self._differences.get(path)

    def invalid_names(self) -> set[str]:
        return set[str]().union(*self._invalid_names.values())

    def pruned_streams(self) -> set[str]:
        return {row[0] for row in self._database.rows(_PRUNED, [self._project])}

    def _refresh_all(self, kind: str) -> None:
        found = self._rows("AND starts_with(name, %(name)s)", f"{kind}/")
        rows = [row for row in found if is_id(row.name.removeprefix(f"{kind}/"))]
        self._invalid_names[kind] = {row.name for row in found} - {row.name for row in rows}
        locate = self.run_stream if kind == "runs" else self.agent_stream
        paths = {row.id: locate(row.name.removeprefix(f"{kind}/")) for row in rows}
        for batch in _batches(rows):
            new = [row.id for row in batch if not paths[row.id].exists()]
            read = read_streams(self._database, batch[0].month, new) if len(new) > 1 else {}
            for row in batch:
                with self._noted(paths[row.id]):
                    self._copy(row, paths[row.id], read.get(row.id))
        for path in {*stream_paths(self.path / kind)} - {*paths.values()}:
            if not self._rows(_NAMED, _name(path)):
                with self._noted(path):
                    self._remove_expired(path)

    @contextmanager
    def _noted(self, path: Path, *, raises: bool = False) -> Iterator[None]:
        """Keep an error in the block as the stream's `copy_problem`, so that others are copied.

        With `raises`, it is raised instead.
        """
        try:
            yield
        except (DiskError, StreamDamaged) as error:
            if raises:
                raise
            self._errors[path] = f"{error.message}; {error.hint}"
        else:
            if not self._is_verified:  # else an error of `recopy` stays
                self._errors.pop(path, None)

    def _rows(self, condition: str, name: str) -> list[StreamRow]:
        query = f"{SELECT_ROWS} {condition}"
        values = {"project": self._project, "name": name}
        return [StreamRow(*row) for row in self._database.rows(query, values)]

    def _remove_expired(self, path: Path) -> None:
        values = {"project": self._project, "name": _name(path)}
        if self._database.rows(_EXPIRED, values):
            with self._opened(path) as folder, suppress(FileNotFoundError):
                forget_lease(path.name, folder=folder)
                os.unlink(path.name, dir_fd=folder)
            return
        raise StreamDamaged(
            f"{_name(path)} is no longer in {self._database.address}, and was not pruned",
            hint=_kept(path),
        )

    def _copy(self, row: StreamRow, path: Path, read: bytes | None = None) -> None:
        """Copy the new lines of a stream. `read` are all of its lines, if they were read before."""
        if not path.parent.is_dir():  # deleted by the user
            self.create()
        with self._opened(path) as folder:
            if row.is_written:
                note_lease(path.name, row.lease_s, folder=folder)
            else:
                forget_lease(path.name, folder=folder)
            with suppress(FileNotFoundError):
                if os.stat(path.name, dir_fd=folder).st_size == row.bytes:
                    return
        with self._locked(path) as folder:
            if not self._append_new(row, path, folder, read):
                self._replace(row, path, folder)

    def _replace(self, row: StreamRow, path: Path, folder: int) -> None:
        """Copy a stream from its first line, and compare the copies."""
        new = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            with suppress(FileNotFoundError):
                os.unlink(new.name, dir_fd=folder)
            self._append_new(row, new, folder, None)
            line = first_difference(path, new)
            if line is not None:
                kept = path.with_name(f"{path.name}.replaced")
                if os.path.lexists(kept):
                    kept = kept.with_name(f"{kept.name}-{secrets.token_hex(4)}")
                os.rename(path.name, kept.name, src_dir_fd=folder, dst_dir_fd=folder)
                self._differences[path] = (
                    f"line {line} in {self._database.address} is not the one that was copied "
                    f"before, which is kept in {kept}"
                )
            os.rename(new.name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(new.name, dir_fd=folder)

    def _append_new(self, row: StreamRow, path: Path, folder: int, read: bytes | None) -> bool:
        """Append the new lines to a copy. Return False if it does not end with an event."""
        with opened_copy(path, folder) as (file, last):
            if last is None and os.fstat(file).st_size:
                return False
            count, head = (0, None) if last is None else (last.seq + 1, last.hash)
            if row.next_seq < count:  # perhaps another process has copied lines since
                row = next(iter(self._rows(_NAMED, row.name)), row)
            if row.next_seq < count:
                raise StreamDamaged(
                    f"{row.name} had {count} lines and now has {row.next_seq} in {self.place}: "
                    "the database has lost the last ones, for example in a failover",
                    hint=_kept(path),
                )
            if row.next_seq == count and head not in (None, row.head):
                raise self._changed(row, path)
            new, first = read_pages(self._database, row, count, row.next_seq), count
            # what was appended may have filled the disk
            with undo_on_error(os.ftruncate, file, os.fstat(file).st_size):
                for page in new if read is None or count else (read,):
                    if head is not None and valid_hash(page.partition(b"\n")[0], head) is None:
                        is_ours = count == first
                        raise self._changed(row, path) if is_ours else self._unreadable(row, count)
                    # `trace verify` checks the other lines
                    head = stated_hash(page.rstrip(b"\n").rpartition(b"\n")[2]) or ""
                    row = self._append_page(row, path, file, page)
                    count += page.count(b"\n")
                if count < row.next_seq and self._rows(_NAMED, row.name):
                    raise self._unreadable(row, count)
        return True

    def _append_page(self, row: StreamRow, path: Path, file: int, page: bytes) -> StreamRow:
        """Append a page to a copy, and return the stream's row.

        The page may hold lines that were appended since the row was read.
        """
        size = os.fstat(file).st_size
        if size >= row.bytes:
            row = next(iter(self._rows(_NAMED, row.name)), row)
        limit = min(row.bytes, MAX_STREAM)
        if size >= limit:
            raise StreamDamaged(
                f"{row.name} in {self._database.address} has more than {limit} bytes, and its writer "
                f"recorded {row.bytes}; it was not copied",
                hint="someone may have filled the table events; ask the owner of the database",
            )
        disk = os.fstatvfs(file)
        if disk.f_bavail * disk.f_frsize < len(page) + _FREE_BYTES:
            raise DiskError(
                f"{path}: less than {_FREE_BYTES >> 20} MiB of the disk would be left",
                hint="free some space; `remora trace list` copies the stream again",
            )
        write_all(file, page)
        return row

    @contextmanager
    def _locked(self, path: Path) -> Iterator[int]:
        """Open the folder of a copy, locked against other processes that copy."""
        with self._opened(path) as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield folder

    @contextmanager
    def _opened(self, path: Path) -> Iterator[int]:
        """Open the folder of a copy. No part of its path below the copies is a link."""
        with disk_errors(path), open_inner_folder(self.path, path.parent.name) as folder:
            yield folder

    def _unreadable(self, row: StreamRow, count: int) -> StreamDamaged:
        return StreamDamaged(
            f"{row.name} should have {row.next_seq} lines in {self._database.address}, but only "
            f"{count} can be read",
            hint="someone has changed the table events; restore the database from a backup",
        )

    def _changed(self, row: StreamRow, path: Path) -> StreamDamaged:
        return StreamDamaged(
            f"{row.name} in {self._database.address} does not continue the lines copied before",
            hint=_kept(path),
        )


def _batches(rows: Iterable[StreamRow]) -> Iterator[list[StreamRow]]:
    """Group streams that were begun in the same month. A large one is a group of its own."""
    batch: list[StreamRow] = []
    size = 0
    for row in sorted(rows, key=lambda row: (row.month, row.id)):
        if batch and (row.month != batch[0].month or size + row.bytes > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row.bytes
    if batch:
        yield batch


def _name(path: Path) -> str:
    return f"{path.parent.name}/{stream_id(path)}"


def _kept(path: Path) -> str:
    return f"{path} still holds the lines that were copied; move it away to continue without them"


def first_difference(path: Path, other: Path) -> int | None:
    """Return the number of the first line that differs, or None if one file begins the other.

    Lines of `path` that are no events are different from missing ones.
    """
    if not path.exists() or filecmp.cmp(path, other, shallow=False):
        return None
    with path.open("rb") as lines, other.open("rb") as others:
        pairs = zip_longest(lines, others, fillvalue=b"")
        for number, (line, new_line) in enumerate(pairs, 1):
            is_torn = not line.endswith(b"\n") and new_line.startswith(line)
            if line != new_line and not is_torn and (new_line or not _is_event(line)):
                return number
    return None


def _is_event(line: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        return bool(decode_event(line))
    return False


@contextmanager
def opened_copy(path: Path, folder: int) -> Iterator[tuple[int, Event | None]]:
    """Open a copy in an opened folder for appending, without an unfinished last line.

    Yield the file and its last event, which is None if the file is empty or not a copy.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    with closing_fd(open_file(path.name, flags, folder=folder)) as file:
        source = FileSource(file)
        end = newline_before(source, source.size()) + 1
        last = last_copied(path)
        if last is not None:
            os.ftruncate(file, end)
        yield file, last


def last_copied(path: Path) -> Event | None:
    """Return the last event of a copy, or None if there is none or the copy is damaged."""
    with suppress(NotFound, StreamDamaged):
        return last_event(path)
    return None
