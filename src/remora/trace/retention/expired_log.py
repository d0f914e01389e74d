"""The record of what went: `.agentfs/expired.jsonl`, a chain of hashes like any stream's."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Literal

import msgspec

from remora.errors import StreamDamaged
from remora.memory.events import GENESIS, Head
from remora.trace.content.byte_source import FileSource
from remora.trace.content.line_format import Line, hashed_lines, line_hash, line_with_hash
from remora.trace.content.private_files import disk_errors, open_file, open_folder, write_all
from remora.trace.stream.line_builder import format_timestamp
from remora.trace.trace_folder import TraceFolder

NAME = "expired.jsonl"


class Expired(msgspec.Struct, frozen=True, kw_only=True):
    """A stream that was to go: its last anchor, and why. One that is still there has not gone.

    Of a run's own stream `contents` are all that its streams named: of what no other stream names
    it is known for ever that nobody needs it.
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


def read_expired(folder: TraceFolder) -> Iterator[Expired]:
    """What went, oldest first. Raises StreamDamaged where the record is not what was written."""
    path = folder.path / NAME
    if not os.path.lexists(path):
        return
    with disk_errors(path), ExitStack() as stack:
        top = open_folder(folder.path)
        stack.callback(os.close, top)
        file = open_file(NAME, os.O_RDONLY, folder=top)
        stack.callback(os.close, file)
        for line, _ in _checked(file):
            yield _entry(line)


def log_expired(folder: TraceFolder, entries: Sequence[Expired], now: datetime) -> None:
    """Add what is about to go, and have it on the disk; what stands there already is not repeated.

    For one process at a time. Raises StreamDamaged or DiskError.
    """
    with disk_errors(folder.path / NAME), ExitStack() as stack:
        top = open_folder(folder.path)
        stack.callback(os.close, top)
        file = open_file(NAME, os.O_RDWR | os.O_CREAT | os.O_APPEND, folder=top)
        stack.callback(os.close, file)
        known, size, previous = set(), 0, GENESIS
        for line, digest in _checked(file):
            previous = digest
            size = line.offset + line.size + 1
            known.add(_key(_entry(line)))
        os.ftruncate(file, size)  # what a killed process began, nobody was told of
        new = (entry for entry in entries if _key(entry) not in known)
        write_all(file, b"".join(_lines(new, previous, format_timestamp(now))))
        os.fsync(file)
        os.fsync(top)


def _lines(entries: Iterable[Expired], previous: str, stamp: str) -> Iterator[bytes]:
    for entry in entries:
        body = msgspec.json.encode(msgspec.structs.replace(entry, timestamp=stamp))[:-1]
        previous = line_hash(previous, body)
        yield line_with_hash(body, previous)


def _checked(file: int) -> Iterator[tuple[Line, str]]:
    """The whole lines, each with its hash."""
    for line, digest in hashed_lines(FileSource(file)):
        if not line.ended:
            return
        if digest is None:
            raise StreamDamaged(
                f"{NAME}: line {line.number} is not what its hash says",
                hint="move it away if you know why: nothing expires while nobody can trust it",
            )
        yield line, digest


def _entry(line: Line) -> Expired:
    try:
        return msgspec.json.decode(line.raw, type=Expired)
    except (ValueError, RecursionError) as error:
        raise StreamDamaged(f"{NAME}: line {line.number}: {error}") from error


def _key(entry: Expired) -> tuple[str, str, Head]:
    return entry.kind, entry.id, entry.head
