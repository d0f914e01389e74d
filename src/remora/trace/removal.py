"""Removal of streams and stored contents, and `.agentfs/expired.jsonl`, the log of removed streams.

The log is protected by a hash chain.
"""

import fcntl
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Literal

import msgspec

from remora.errors import StreamDamaged
from remora.memory.events import GENESIS, Head
from remora.regular_file import closing_fd
from remora.trace.content.byte_source import FileSource, read_pieces
from remora.trace.content.line_format import hashed_lines, line_hash, line_with_hash
from remora.trace.content.private_files import (
    disk_errors,
    open_file,
    open_folder,
    open_read_only,
    sync_folder,
    write_all,
)
from remora.trace.read.reader import open_stream
from remora.trace.stream.line_builder import format_timestamp
from remora.trace.stream.recovery import quarantine_names
from remora.trace.trace_folder import TraceFolder, compressed_path, plain_path

_LOG = "expired.jsonl"
_REFERENCE = re.compile(rb'"([0-9a-f]{64})"')
_REFERENCE_SIZE = 66
_STORED = re.compile(r"[0-9a-f]{64}|\..+-[0-9a-f]{8}~?")
"""File names of contents, and of the unfinished files that killed processes leave behind."""


class ExpiredStream(msgspec.Struct, frozen=True, kw_only=True):
    """A removed stream and its last head. The entry is written before the stream is removed."""

    v: int = 1
    timestamp: str = ""
    kind: Literal["agent", "run"]
    id: str
    run_id: str
    head: Head
    bytes: int
    reason: str = "age"
    contents: tuple[str, ...] = ()
    """For a run's stream, all objects and blobs that the run's streams referred to."""


def read_expired(folder: TraceFolder) -> Iterator[ExpiredStream]:
    """Yield the logged streams, oldest first. Raises StreamDamaged if the log is damaged."""
    path = folder.path / _LOG
    with disk_errors(path), suppress(FileNotFoundError), closing_fd(open_read_only(path)) as file:
        yield from (entry for entry, _, _ in _entries(file))


def log_expired(folder: TraceFolder, entries: Iterable[ExpiredStream], now: datetime) -> None:
    """Log streams before they are removed, and sync the log.

    A stream that is already logged is not logged again. Raises StreamDamaged if the log is damaged,
    and DiskError if it cannot be written.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    with (
        disk_errors(folder.path / _LOG),
        closing_fd(open_folder(folder.path)) as top,
        closing_fd(open_file(_LOG, flags, folder=top)) as file,
    ):
        fcntl.flock(file, fcntl.LOCK_EX)
        logged = list(_entries(file))
        _, size, digest = logged[-1] if logged else (None, 0, GENESIS)
        os.ftruncate(file, size)  # a killed process may have left an unfinished line
        known = {(entry.kind, entry.id, entry.head) for entry, _, _ in logged}
        for entry in entries:
            if (entry.kind, entry.id, entry.head) not in known:
                dated = msgspec.structs.replace(entry, timestamp=format_timestamp(now))
                body = msgspec.json.encode(dated)[:-1]
                digest = line_hash(digest, body)
                write_all(file, line_with_hash(body, digest))
        os.fsync(file)
        os.fsync(top)


def _entries(file: int) -> Iterator[tuple[ExpiredStream, int, str]]:
    """Yield each complete entry with the offset of its end, and its hash."""
    for line, digest in hashed_lines(FileSource(file)):
        if not line.ended:
            return
        try:
            entry = msgspec.json.decode(line.raw, type=ExpiredStream)
        except (ValueError, RecursionError) as error:
            raise StreamDamaged(f"{_LOG}: line {line.number}: {error}") from error
        if digest is None:
            raise StreamDamaged(
                f"{_LOG}: line {line.number} does not match its hash",
                hint="no streams are removed while this file is damaged; move it "
                "away if you know the cause",
            )
        yield entry, line.offset + line.size + 1, digest


def remove_stream(path: Path) -> None:
    """Remove a stream and all its files, such as torn tails in quarantine.

    The compressed file is removed first. If it were left over after an interruption, it would be
    taken for the stream.
    """
    torn = map(path.with_name, quarantine_names(plain_path(path).name))
    with disk_errors(path):
        for place in (compressed_path(path), plain_path(path), *takewhile(os.path.lexists, torn)):
            place.unlink(missing_ok=True)
        sync_folder(path.parent)


class StoredContent(msgspec.Struct, frozen=True, kw_only=True):
    """The file of an object or blob, or an unfinished file."""

    path: Path
    bytes: int
    put: float
    """The time when the content was last stored, as a Unix timestamp."""


def stored_contents(folder: TraceFolder) -> Iterator[StoredContent]:
    """Yield all objects, blobs and unfinished files. Links are not followed."""
    for part in (folder.traces, folder.runs, folder.blobs.folder, folder.objects.folder):
        for place, _, names in os.walk(part):
            for path in (Path(place, name) for name in names if _STORED.fullmatch(name)):
                with suppress(FileNotFoundError):
                    status = path.lstat()
                    yield StoredContent(path=path, bytes=status.st_size, put=status.st_mtime)


def referenced_contents(path: Path, known: Collection[str]) -> frozenset[str]:
    """Return the hashes in `known` that a stream references.

    Every JSON string that is a SHA-256 counts as a reference.
    """
    found: set[bytes] = set()
    with open_stream(path, in_order=True) as source:
        rest = b""
        for piece in read_pieces(source):
            rest += piece
            found.update(_REFERENCE.findall(rest))
            rest = rest[-_REFERENCE_SIZE:]
    return frozenset(known) & {name.decode() for name in found}


def remove_contents(contents: Collection[StoredContent]) -> int:
    """Remove contents that were not stored again since they were listed, and return their size.

    The stores are locked during the removal, so a concurrent `put` waits. Unfinished files of
    streams are in no store. Raises DiskError.
    """
    size = 0
    stores = {content.path.parents[1] for content in contents}
    with ExitStack() as stack:
        for store in sorted(store for store in stores if store.name in ("blobs", "objects")):
            with disk_errors(store):
                lock = stack.enter_context(closing_fd(open_folder(store)))
                fcntl.flock(lock, fcntl.LOCK_EX)
        for content in contents:
            place, name = content.path.parent, content.path.name
            with (
                disk_errors(content.path),
                suppress(FileNotFoundError),
                closing_fd(open_folder(place)) as folder,
            ):
                if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime == content.put:
                    os.unlink(name, dir_fd=folder)
                    size += content.bytes
    return size
