"""zstd files of streams and blobs, of one frame each. `zstd -d` reads them too."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile, gettempdir

import zstandard

from remora.errors import StreamDamaged
from remora.trace.content.byte_source import ByteSource, FileSource
from remora.trace.content.private_files import disk_errors

_LEVEL = 3
_STEP = 512
"""Bytes that are decompressed at once: at most 16 MiB, because zstd packs 128 KiB into 4 bytes."""
_PIECE = 1 << 20
"""Bytes of a piece: splitting 16 MiB of empty lines at once would take 300 MB."""
MAX_STREAM = 4 << 30
"""Maximum bytes of a decompressed stream (decision). A small file can declare any size."""
_ANY_RATIO = 64 << 20
"""Bytes that a file of any size may have when it is decompressed: the longest line (decision)."""
_MAX_RATIO = 100
"""Further bytes for each byte of the file. The highest ratio of 400 streams is 43."""


def compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Compress the pieces, and yield the output in bounded memory."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()


def decompressed(file: ByteSource, name: str, limit: int | None = None) -> Iterator[bytes]:
    """Yield the content of a compressed file in pieces.

    Raises StreamDamaged if it is damaged, truncated, or has more than `limit` bytes, by default
    those of a stream. The message begins with `name`.
    """
    if limit is None:
        limit = min(_ANY_RATIO + _MAX_RATIO * file.size(), MAX_STREAM)
    offset, size = 0, 0
    frame = zstandard.ZstdDecompressor().decompressobj()
    try:
        while piece := file.pread(_STEP, offset):
            offset += len(piece)
            content = frame.decompress(piece)
            size += len(content)
            if size > limit:
                raise _damage(name, f"it has more than {limit} bytes when it is decompressed")
            yield from (content[at : at + _PIECE] for at in range(0, len(content), _PIECE))
            if frame.unused_data:
                raise _damage(name, "it has more after its end")
    except zstandard.ZstdError as error:
        raise _damage(name, str(error)) from error
    if not frame.eof:
        raise _damage(name, "it is truncated")


@contextmanager
def temporary_copy(pieces: Iterable[bytes]) -> Iterator[FileSource]:
    """Write a stream to a temporary file that only this process can open. Raises DiskError."""
    with disk_errors(Path(gettempdir())), TemporaryFile() as plain:
        plain.writelines(pieces)
        plain.flush()
        yield FileSource(plain.fileno())


def _damage(name: str, what: str) -> StreamDamaged:
    return StreamDamaged(f"{name} is damaged: {what}", hint="see `remora trace verify`")
