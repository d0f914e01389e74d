"""What a stream's file holds when a writer opens it, and where a torn tail goes."""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import msgspec

from remora.errors import StreamDamaged
from remora.memory.events import Event, Head, Recovered, decode_event
from remora.trace.content.byte_source import FileSource, read_pieces, sha256_of
from remora.trace.content.line_format import Line, hashed_lines, is_torn
from remora.trace.content.private_files import open_file, write_all

_NOTE = b'"type":"recovered"'


class StreamContents(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as found: its sound lines, how many bytes of a torn tail follow them, and the names
    of the files that `recovered` events tell of."""

    head: Head
    last: Event | None
    size: int
    torn: int
    quarantines: frozenset[str]


def check_stream(file: int, path: Path) -> StreamContents:
    """Check every hash. Raises StreamDamaged for a bad line that is no torn tail.

    What follows the last sound line is one if no line in it ends as a whole line does: it was
    never acknowledged. A bad line before whole ones is damage.
    """
    head, raw, size, torn = Head(), b"", 0, 0
    told: set[str] = set()
    for line, digest in hashed_lines(FileSource(file)):
        if digest is None:
            _check_torn(line, head, path)
            torn += line.size + line.ended
            continue
        head, raw = Head(count=line.number, hash=digest), line.raw
        size = line.offset + line.size + 1
        if _NOTE in raw:
            told |= _told(raw)
    last = _decoded(raw, head, path)
    return StreamContents(head=head, last=last, size=size, torn=torn, quarantines=frozenset(told))


def quarantine_names(name: str) -> Iterator[str]:
    """Where torn tails of the stream's file `name` go, one after another."""
    return (f"{name}.quarantine-{number}" for number in count(1))


def quarantine_tail(
    file: int, contents: StreamContents, *, name: str, folder: int
) -> tuple[Recovered, ...]:
    """Copy a torn tail beside the stream, then cut it off. Raises OSError.

    What no event tells of yet: this tail, and before it those of recoveries that were killed.
    """
    notes: list[Recovered] = []
    new = (beside for beside in quarantine_names(name) if beside not in contents.quarantines)
    beside = next(new)
    while (found := _untold(beside, folder, file, contents)) is not None:
        notes.append(found)
        beside = next(new)
    if contents.torn:
        notes.append(_quarantine(file, contents, beside, folder))
    return tuple(notes)


def _untold(beside: str, folder: int, file: int, contents: StreamContents) -> Recovered | None:
    """What a killed recovery set aside; None for nothing, and for a part of the present tail."""
    try:
        kept = open_file(beside, os.O_RDONLY, folder=folder)
    except FileNotFoundError:
        return None
    try:
        size = os.fstat(kept).st_size
        digest = sha256_of(read_pieces(FileSource(kept)))
        torn = read_pieces(FileSource(file), contents.size, contents.size + size)
        if size <= contents.torn and digest == sha256_of(torn):
            return None
        return Recovered(quarantine=beside, bytes=size, sha256=digest)
    finally:
        os.close(kept)


def _quarantine(file: int, contents: StreamContents, beside: str, folder: int) -> Recovered:
    target = open_file(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, folder=folder)
    try:
        for piece in read_pieces(FileSource(file), contents.size):
            write_all(target, piece)
        os.fsync(target)
        os.fsync(folder)
    finally:
        os.close(target)
    digest = sha256_of(read_pieces(FileSource(file), contents.size))
    os.ftruncate(file, contents.size)
    return Recovered(quarantine=beside, bytes=contents.torn, sha256=digest)


def _check_torn(line: Line, head: Head, path: Path) -> None:
    if not is_torn(line):
        raise StreamDamaged(
            f"{path.name}: line {head.count + 1} is not what its hash says",
            hint="`remora trace verify` tells more; a damaged stream is never continued",
        )


def _decoded(raw: bytes, head: Head, path: Path) -> Event | None:
    if not head.count:
        return None
    with suppress(ValueError, RecursionError):
        event = decode_event(raw)
        if event.seq == head.count - 1:
            return event
    raise StreamDamaged(f"{path.name}: line {head.count} is no event", hint="remora trace verify")


def _told(raw: bytes) -> set[str]:
    try:
        event = decode_event(raw)
        if event.type == Recovered.type:
            return {msgspec.json.decode(event.data, type=Recovered).quarantine}
    except (ValueError, RecursionError):
        pass  # some other line that holds these words; `last` alone has to be an event here
    return set()
