"""Validation of a stream, and recovery of its torn tail, when a writer opens it."""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec

from remora.errors import StreamDamaged
from remora.memory.events import Event, Head, Recovered, decode_event
from remora.regular_file import closing_fd
from remora.trace.content.byte_source import FileSource, read_pieces, sha256_of
from remora.trace.content.line_format import Line, hashed_lines, is_torn
from remora.trace.content.private_files import open_file, write_all

_NOTE = b'"type":"recovered"'


class StreamContents(msgspec.Struct, frozen=True, kw_only=True):
    """State of a stream when it is opened."""

    head: Head
    last: Event | None
    size: int
    """Bytes of its valid lines."""
    torn: int
    """Bytes of the torn tail after them."""
    quarantines: frozenset[str]
    """The file names recorded in `recovered` events."""


def check_stream(file: int, path: Path) -> StreamContents:
    """Check every hash, and return the state of the stream.

    Raises StreamDamaged if there is an invalid line that is not part of a torn tail. A torn tail
    contains only lines that do not end like a complete line. An interrupted write leaves one, and
    so does a change to the file.
    """
    head, raw, size, torn = Head(), b"", 0, 0
    quarantines: set[str] = set()
    for line, digest in hashed_lines(FileSource(file)):
        if digest is None:
            _check_torn(line, head, path)
            torn += line.size + line.ended
            continue
        head, raw = Head(count=line.number, hash=digest), line.raw
        size = line.offset + line.size + 1
        if _NOTE in raw:
            quarantines |= _recorded_quarantines(raw)
    last = _decode_event(raw, head, path)
    return StreamContents(
        head=head, last=last, size=size, torn=torn, quarantines=frozenset(quarantines)
    )


def quarantine_names(name: str) -> Iterator[str]:
    """Yield possible names of quarantine files for the stream file `name`."""
    return (f"{name}.quarantine-{number}" for number in count(1))


def quarantine_tail(
    file: int, contents: StreamContents, *, name: str, folder: int
) -> tuple[Recovered, ...]:
    """Copy a torn tail to a quarantine file, then truncate the stream.

    Return the events to record. Raises OSError.
    """
    notes: list[Recovered] = []
    new = (
        quarantine
        for quarantine in quarantine_names(name)
        if quarantine not in contents.quarantines
    )
    quarantine = next(new)
    while (found := _unrecorded_recovery(quarantine, folder, file, contents)) is not None:
        notes.append(found)
        quarantine = next(new)
    if contents.torn:
        notes.append(_quarantine(file, contents, quarantine, folder))
    return tuple(notes)


def _unrecorded_recovery(
    quarantine: str, folder: int, file: int, contents: StreamContents
) -> Recovered | None:
    """Return the event for a quarantine file that was left by an interrupted recovery.

    Returns None if there is no such file, or if its content is still part of the stream.
    """
    try:
        copy = open_file(quarantine, os.O_RDONLY, folder=folder)
    except FileNotFoundError:
        return None
    with closing_fd(copy):
        size = os.fstat(copy).st_size
        digest = sha256_of(read_pieces(FileSource(copy)))
        torn = read_pieces(FileSource(file), contents.size, contents.size + size)
        if size <= contents.torn and digest == sha256_of(torn):
            return None
        return Recovered(quarantine=quarantine, bytes=size, sha256=digest)


def _quarantine(file: int, contents: StreamContents, quarantine: str, folder: int) -> Recovered:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with closing_fd(open_file(quarantine, flags, folder=folder)) as target:
        for piece in read_pieces(FileSource(file), contents.size):
            write_all(target, piece)
        os.fsync(target)
        os.fsync(folder)
    digest = sha256_of(read_pieces(FileSource(file), contents.size))
    os.ftruncate(file, contents.size)
    return Recovered(quarantine=quarantine, bytes=contents.torn, sha256=digest)


def _check_torn(line: Line, head: Head, path: Path) -> None:
    if not is_torn(line):
        raise StreamDamaged(
            f"{path.name}: line {head.count + 1} does not match its hash",
            hint="run `remora trace verify` for details; a damaged stream is never continued",
        )


def _decode_event(raw: bytes, head: Head, path: Path) -> Event | None:
    if not head.count:
        return None
    with suppress(ValueError, RecursionError):
        event = decode_event(raw)
        if event.seq == head.count - 1:
            return event
    raise StreamDamaged(
        f"{path.name}: line {head.count} is not an event",
        hint="check it with `remora trace verify`",
    )


def _recorded_quarantines(raw: bytes) -> set[str]:
    with suppress(ValueError, RecursionError):  # another line with these words may be no event
        event = decode_event(raw)
        if event.type == Recovered.type:
            return {msgspec.json.decode(event.data, type=Recovered).quarantine}
    return set()
