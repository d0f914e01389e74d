"""Where a stream's bytes are read from: any place of them, in any order."""

import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Protocol

_PIECE = 1 << 20


class ByteSource(Protocol):
    """A stream's bytes, which may grow while they are read."""

    def size(self) -> int:
        """How many bytes there are now."""

    def pread(self, count: int, offset: int) -> bytes:
        """At most `count` bytes from `offset`; fewer before the end only where the disk gives
        fewer, none at or behind the end. Raises OSError."""


class FileSource:
    """An open file's bytes as they are. Who opened the descriptor closes it."""

    def __init__(self, file: int) -> None:
        self.file = file

    def size(self) -> int:
        """As the file is now."""
        return os.fstat(self.file).st_size

    def pread(self, count: int, offset: int) -> bytes:
        """Straight from the file."""
        return os.pread(self.file, count, offset)


def read_pieces(source: ByteSource, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """The bytes from `start` on, up to `end` if it is given, in bounded memory."""
    position = start
    while piece := source.pread(_PIECE if end is None else min(_PIECE, end - position), position):
        position += len(piece)
        yield piece


def sha256_of(content: Iterator[bytes]) -> str:
    """The SHA-256 of a content that comes in pieces, in lower-case hex."""
    digest = sha256()
    for piece in content:
        digest.update(piece)
    return digest.hexdigest()
