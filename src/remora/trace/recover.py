"""What a stream's file holds when a writer opens it, and where a torn tail goes."""

import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from remora.errors import StreamDamaged
from remora.memory.events import Event, Head, Recovered, decode_event
from remora.trace.lines import Line, carries, lines, stated_hash
from remora.trace.private import open_file, write_all
from remora.trace.source import FileSource

_CHUNK = 1 << 20


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as found: its sound lines, and how many bytes of a torn tail follow them."""

    head: Head
    last: Event | None
    size: int
    torn: int


def is_torn(line: Line) -> bool:
    """Whether the last line of a stream is what a cut write leaves: unfinished or with holes."""
    return not line.ended or b"\0" in line.raw or stated_hash(line.raw) is None


def survey(file: int, path: Path) -> Contents:
    """Check every hash. Raises StreamDamaged for a bad line that is no torn tail."""
    head, raw, size = Head(), b"", 0
    stream = lines(FileSource(file))
    for line in stream:
        digest = carries(line.raw, head.hash) if line.ended else None
        if digest is None:
            torn = _torn_bytes(line, stream, path)
            return Contents(head=head, last=_decoded(raw, head, path), size=size, torn=torn)
        head, raw = Head(count=line.number, hash=digest), line.raw
        size = line.offset + line.size + 1
    return Contents(head=head, last=_decoded(raw, head, path), size=size, torn=0)


def quarantine(file: int, contents: Contents, *, name: str, folder: int) -> Recovered:
    """Copy the torn tail beside the stream, then cut it off. Raises OSError."""
    beside, target = _free_name(name, folder)
    digest = sha256()
    try:
        for chunk in _tail(file, contents.size):
            digest.update(chunk)
            write_all(target, chunk)
        os.fsync(target)
        os.fsync(folder)
    finally:
        os.close(target)
    os.ftruncate(file, contents.size)
    return Recovered(quarantine=beside, bytes=contents.torn, sha256=digest.hexdigest())


def _torn_bytes(line: Line, rest: Iterator[Line], path: Path) -> int:
    following = next(rest, None)
    if following is not None or not is_torn(line):
        raise StreamDamaged(
            f"{path.name}: line {line.number} is not what its hash says",
            hint="`remora trace verify` tells more; a damaged stream is never continued",
        )
    return line.size + line.ended


def _decoded(raw: bytes, head: Head, path: Path) -> Event | None:
    if not head.count:
        return None
    with suppress(ValueError, RecursionError):
        event = decode_event(raw)
        if event.seq == head.count - 1:
            return event
    raise StreamDamaged(f"{path.name}: line {head.count} is no event", hint="remora trace verify")


def _free_name(name: str, folder: int) -> tuple[str, int]:
    number = 1
    while True:
        beside = f"{name}.quarantine-{number}"
        with suppress(FileExistsError):
            return beside, open_file(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder=folder)
        number += 1


def _tail(file: int, start: int) -> Iterator[bytes]:
    while chunk := os.pread(file, _CHUNK, start):
        start += len(chunk)
        yield chunk
