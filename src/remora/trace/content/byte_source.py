"""Random access to the bytes of a stream or stored content."""

import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Protocol

_PIECE = 1 << 20


class ByteSource(Protocol):
    """Bytes that may grow while they are read."""

    def size(self) -> int:
        """Return the current number of bytes."""

    def pread(self, count: int, offset: int) -> bytes:
        """Return up to `count` bytes from `offset`.

        May return fewer bytes, even before the end. Raises OSError.
        """


class FileSource:
    """Bytes of an open file. The caller must close the descriptor."""

    def __init__(self, file: int) -> None:
        self.file = file

    def size(self) -> int:
        return os.fstat(self.file).st_size

    def pread(self, count: int, offset: int) -> bytes:
        return os.pread(self.file, count, offset)


class PieceSource:
    """Bytes that can be read once and in order, from pieces that are made one by one."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = filter(None, pieces)

    def size(self) -> int:
        raise NotImplementedError

    def pread(self, count: int, offset: int) -> bytes:  # noqa: ARG002 (returns the next piece)
        return next(self._pieces, b"")


def read_pieces(source: ByteSource, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the bytes from `start` to `end`, or to the end of the source, in bounded memory."""
    position = start
    while piece := source.pread(_PIECE if end is None else min(_PIECE, end - position), position):
        position += len(piece)
        yield piece


def sha256_of(content: Iterator[bytes]) -> str:
    """Return the SHA-256 of the concatenated pieces, in lowercase hex."""
    digest = sha256()
    for piece in content:
        digest.update(piece)
    return digest.hexdigest()
