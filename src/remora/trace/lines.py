"""The bytes of a stream: how a file is split into lines, and how a line carries its hash."""

from collections.abc import Iterator
from hashlib import sha256

import msgspec

from remora.trace.source import Source

_FRAME = b',"hash":"'
_END = b'"}'
_HEX = frozenset(b"0123456789abcdef")
TAIL = len(_FRAME) + 64 + len(_END)
"""Bytes at the end of a line that its hash does not cover."""
MAX_LINE = 64 * 1024 * 1024
"""Bytes of a line that is read or written; a longer one is damage."""
_CHUNK = 1 << 20
_TAIL_BLOCK = 1 << 16


class Line(msgspec.Struct, frozen=True):
    """A line without its newline. `ended` is false for what follows the last newline.

    Of a line longer than MAX_LINE only the beginning is kept; `size` counts all its bytes.
    """

    number: int
    offset: int
    raw: bytes
    size: int
    ended: bool


def line_hash(previous: str, body: bytes) -> str:
    """The hash of a line whose bytes before its last `,"hash":"` are `body`."""
    return sha256(previous.encode() + body).hexdigest()


def framed(body: bytes, digest: str) -> bytes:
    """The whole line with its newline."""
    return b'%b,"hash":"%b"}\n' % (body, digest.encode())


def stated_hash(raw: bytes) -> str | None:
    """The hash that a line carries, or None if the line does not end as one must."""
    tail = raw[-TAIL:]
    digest = tail[len(_FRAME) : -len(_END)]
    if len(tail) < TAIL or not tail.startswith(_FRAME) or not tail.endswith(_END):
        return None
    return digest.decode() if _HEX.issuperset(digest) else None


def carries(raw: bytes, previous: str) -> str | None:
    """The line's hash if it is right after `previous`, else None."""
    stated = stated_hash(raw)
    return stated if stated == line_hash(previous, raw[:-TAIL]) else None


def lines(source: Source) -> Iterator[Line]:
    """The lines of a stream from its beginning, split at `\\n` only, in bounded memory."""
    number, offset, kept, size = 1, 0, bytearray(), 0
    position = 0
    while chunk := source.pread(_CHUNK, position):
        position += len(chunk)
        *complete, rest = chunk.split(b"\n")
        for piece in complete:
            raw = bytes(kept + piece) if kept else piece
            size += len(piece)
            yield Line(number, offset, raw[:MAX_LINE], size, True)
            number, offset, size = number + 1, offset + size + 1, 0
            kept = bytearray()
        size += len(rest)
        kept += rest[: max(0, MAX_LINE + 1 - len(kept))]
    if size:
        yield Line(number, offset, bytes(kept[:MAX_LINE]), size, False)


def last_line(source: Source) -> bytes | None:
    """The last complete line, read from the end; None where there is none within MAX_LINE."""
    size = source.size()
    block = _TAIL_BLOCK
    while True:
        start = max(0, size - block)
        tail = source.pread(size - start, start)
        end = tail.rfind(b"\n")
        before = tail.rfind(b"\n", 0, end) if end >= 0 else -1
        if before >= 0 or (start == 0 and end >= 0):
            return tail[before + 1 : end]
        if start == 0 or block > 2 * MAX_LINE:
            return None
        block *= 4
