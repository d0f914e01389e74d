"""The log `.agentfs/expired.jsonl` of removed streams, protected by a hash chain."""

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from remora.errors import StreamDamaged
from remora.memory.events import GENESIS, Head
from remora.regular_file import closing_fd
from remora.trace.content.byte_source import FileSource
from remora.trace.content.line_format import Line, hashed_lines, line_hash, line_with_hash
from remora.trace.content.private_files import disk_errors, open_file, open_folder, write_all
from remora.trace.stream.line_builder import format_timestamp
from remora.trace.trace_folder import TraceFolder

EXPIRED_LOG = "expired.jsonl"


class ExpiredStream(msgspec.Struct, frozen=True, kw_only=True):
    """A removed stream and its last anchor.

    The entry is written before the stream is removed. For a run's stream, `contents` lists all
    objects and blobs that the run's streams referred to.
    """

    v: int = 1
    timestamp: str = ""
    kind: Literal["agent", "run"]
    id: str
    run_id: str
    head: Head
    bytes: int
    reason: str
    contents: tuple[str, ...] = ()


def read_expired(folder: TraceFolder) -> Iterator[ExpiredStream]:
    """Yield the entries, oldest first. Raises StreamDamaged if the log is damaged."""
    path = folder.path / EXPIRED_LOG
    if not os.path.lexists(path):
        return
    with (
        disk_errors(path),
        closing_fd(open_folder(folder.path)) as top,
        closing_fd(open_file(EXPIRED_LOG, os.O_RDONLY, folder=top)) as file,
    ):
        for line, _ in _checked_lines(file):
            yield _entry(line)


def log_expired(folder: TraceFolder, entries: Sequence[ExpiredStream], now: datetime) -> None:
    """Record streams before they are removed, and sync the log.

    A stream that is already recorded is not recorded again. Raises StreamDamaged if the log is
    damaged, and DiskError if it cannot be written.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    with (
        disk_errors(folder.path / EXPIRED_LOG),
        closing_fd(open_folder(folder.path)) as top,
        closing_fd(open_file(EXPIRED_LOG, flags, folder=top)) as file,
    ):
        known, size, previous = set(), 0, GENESIS
        for line, digest in _checked_lines(file):
            previous = digest
            size = line.offset + line.size + 1
            known.add(_key(_entry(line)))
        os.ftruncate(file, size)  # a killed process may have left an unfinished line
        new = (entry for entry in entries if _key(entry) not in known)
        write_all(file, b"".join(_lines(new, previous, format_timestamp(now))))
        os.fsync(file)
        os.fsync(top)


def _lines(entries: Iterable[ExpiredStream], previous: str, stamp: str) -> Iterator[bytes]:
    for entry in entries:
        body = msgspec.json.encode(msgspec.structs.replace(entry, timestamp=stamp))[:-1]
        previous = line_hash(previous, body)
        yield line_with_hash(body, previous)


def _checked_lines(file: int) -> Iterator[tuple[Line, str]]:
    """Yield each complete line with its hash. Raises StreamDamaged if a hash is wrong."""
    for line, digest in hashed_lines(FileSource(file)):
        if not line.ended:
            return
        if digest is None:
            raise StreamDamaged(
                f"{EXPIRED_LOG}: line {line.number} does not match its hash",
                hint="no streams are removed while this file is damaged; move it "
                "away if you know the cause",
            )
        yield line, digest


def _entry(line: Line) -> ExpiredStream:
    try:
        return msgspec.json.decode(line.raw, type=ExpiredStream)
    except (ValueError, RecursionError) as error:
        raise StreamDamaged(f"{EXPIRED_LOG}: line {line.number}: {error}") from error


def _key(entry: ExpiredStream) -> tuple[str, str, Head]:
    return entry.kind, entry.id, entry.head
