"""Byte format of streams, which defines how lines are split and hashed."""

from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO

import msgspec

from remora.errors import StreamDamaged
from remora.memory.events import GENESIS
from remora.trace.content.byte_source import ByteSource

_FRAME = b',"hash":"'
_END = b'"}'
_HEX = frozenset(b"0123456789abcdef")
HASH_SUFFIX_SIZE = len(_FRAME) + 64 + len(_END)
"""Bytes at the end of a line that its hash does not cover."""
MAX_LINE = 64 * 1024 * 1024
"""Maximum bytes of a line. A longer line counts as damaged."""
MAX_STRANGE_LINES = 10_000
"""Lines in a row that are not events, after which a stream is not read further (decision). A small
compressed file can have millions."""
_CHUNK = 1 << 20
_TAIL_BLOCK = 1 << 16


class Line(msgspec.Struct, frozen=True, gc=False):
    """A line of a stream, without its newline."""

    number: int
    offset: int
    raw: bytes
    """Cut to MAX_LINE bytes."""
    size: int
    """The full length."""
    ended: bool
    """False if the line does not end with a newline."""


def line_hash(previous: str, body: bytes | memoryview) -> str:
    """Return the hash of a line.

    `previous` is the hash of the line before it. `body` is the part of the line before its last
    `,"hash":"`.
    """
    if len(body) <= _CHUNK:
        return sha256(previous.encode() + body).hexdigest()
    digest = sha256(previous.encode())
    digest.update(body)  # no copy: it may be 64 MiB
    return digest.hexdigest()


def hashed_part(raw: bytes) -> bytes | memoryview:
    """Return the part of a line that its hash covers.

    The result is a view if the line is long, and a copy if it is short.
    """
    return raw[:-HASH_SUFFIX_SIZE] if len(raw) <= _CHUNK else memoryview(raw)[:-HASH_SUFFIX_SIZE]


def line_with_hash(body: bytes, digest: str) -> bytes:
    return b'%b,"hash":"%b"}\n' % (body, digest.encode())


def stated_hash(raw: bytes) -> str | None:
    """Return the hash stored at the end of a line, or None if the line does not end with a hash."""
    tail = raw[-HASH_SUFFIX_SIZE:]
    digest = tail[len(_FRAME) : -len(_END)]
    if len(tail) < HASH_SUFFIX_SIZE or not tail.startswith(_FRAME) or not tail.endswith(_END):
        return None
    return digest.decode() if _HEX.issuperset(digest) else None


def valid_hash(raw: bytes, previous: str) -> str | None:
    """Return the line's hash, or None if the hash is missing or incorrect.

    `previous` is the hash of the line before it.
    """
    stated = stated_hash(raw)
    return stated if stated == line_hash(previous, hashed_part(raw)) else None


def iter_lines(
    source: ByteSource, start: int = 0, before: int = 0, *, piece: int | None = None
) -> Iterator[Line]:
    r"""Yield the lines of a stream, starting at byte `start`.

    `before` is the number of lines before `start`. Lines are split only at `\n`. Memory use is
    bounded: `piece` bytes are read at a time.
    """
    number, offset, buffer, size = before + 1, start, BytesIO(), 0
    position = start
    while chunk := source.pread(piece or _CHUNK, position):
        position += len(chunk)
        *complete, rest = chunk.split(b"\n")
        for end in complete:
            size += len(end)
            yield Line(number, offset, _join_pieces(buffer, end), size, True)
            number, offset, size = number + 1, offset + size + 1, 0
            if buffer.tell():
                buffer = BytesIO()
        size += len(rest)
        buffer.write(rest[: MAX_LINE - buffer.tell()])
    if size:
        yield Line(number, offset, buffer.getvalue(), size, False)


def complete_lines(
    source: ByteSource, start: int = 0, before: int = 0, *, piece: int | None = None
) -> Iterator[Line]:
    """Yield the lines that end with a newline. An unfinished last line is skipped.

    Raises StreamDamaged if too many lines in a row are too short to be events.
    """
    short = 0
    for line in iter_lines(source, start, before, piece=piece):
        short = 0 if line.size >= HASH_SUFFIX_SIZE else short + 1
        if short > MAX_STRANGE_LINES:
            raise StreamDamaged(f"{short} lines in a row, up to line {line.number}, are no events")
        if line.ended:
            yield line


def hashed_lines(source: ByteSource) -> Iterator[tuple[Line, str | None]]:
    """Yield each line with its verified hash.

    The hash is None for the first line whose hash is incorrect, and for all later lines.
    """
    previous: str | None = GENESIS
    for line in iter_lines(source):
        if previous is not None:
            previous = valid_hash(line.raw, previous) if line.ended else None
        yield line, previous


def last_line(source: ByteSource) -> bytes | None:
    """Return the last complete line, reading backwards from the end.

    Returns None if no line is complete, or if the last complete line is longer than MAX_LINE.
    """
    if (end := newline_before(source, source.size())) < 0:
        return None
    before = newline_before(source, end)
    # a line that is too long is not read
    return source.pread(end - before - 1, before + 1) if end - before <= MAX_LINE + 1 else None


def _join_pieces(buffer: BytesIO, piece: bytes) -> bytes:
    """Append the last piece of a line to its buffered start, avoiding copies of up to 64 MiB."""
    if not buffer.tell():
        return piece[:MAX_LINE]
    buffer.write(piece[: MAX_LINE - buffer.tell()])
    return buffer.getvalue()


def newline_before(source: ByteSource, end: int) -> int:
    """Return the offset of the last newline before `end`, or -1 if there is none within MAX_LINE
    bytes.
    """
    start, least = end, max(0, end - MAX_LINE - 1)
    while start > least:
        block = min(_TAIL_BLOCK, start)
        start -= block
        if (found := source.pread(block, start).rfind(b"\n")) >= 0:
            return start + found
    return -1


def is_torn(line: Line) -> bool:
    """Return True if the last line of a stream looks like an interrupted write.

    Such a line has no newline, contains null bytes, or does not end with a hash.
    """
    return not line.ended or b"\0" in line.raw or stated_hash(line.raw) is None
