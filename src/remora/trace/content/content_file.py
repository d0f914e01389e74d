"""One stored content as a file: opened through no link, read in pieces, written whole or not."""

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from remora.errors import StreamDamaged
from remora.trace.content.byte_source import ByteSource, FileSource
from remora.trace.content.line_format import MAX_LINE
from remora.trace.content.private_files import open_file, open_folder, open_subfolder, write_all
from remora.trace.content.zstd_frames import MAGIC, FramesSource, compressed_frames

MAX_COMPRESSED_CONTENT = MAX_LINE
"""Bytes of the largest content that a store packs: a small file may say that it unpacks to any."""
_CHUNK = 1 << 20


@contextmanager
def open_digest_folder(top: Path, digest: str) -> Iterator[int]:
    """The folder `ab` that holds a content, reached through no link below `top`. Raises OSError."""
    with ExitStack() as stack:
        store = open_folder(top)
        stack.callback(os.close, store)
        folder = open_subfolder(store, digest[:2])
        stack.callback(os.close, folder)
        yield folder


@contextmanager
def open_content(folder: int, digest: str, *, packs: bool) -> Iterator[ByteSource]:
    """A stored content, unpacked where the store packs and this one is. Raises OSError, or
    StreamDamaged for a packed one that is damaged, or larger than any that was put."""
    file = open_file(digest, os.O_RDONLY, folder=folder)
    try:
        source = FileSource(file)
        # before stores packed they held text, and no text begins so
        yield _unpacked(source, digest) if packs and source.pread(4, 0) == MAGIC else source
    finally:
        os.close(file)


def _unpacked(source: ByteSource, digest: str) -> ByteSource:
    content = FramesSource(source, digest)
    if content.size() > MAX_COMPRESSED_CONTENT:
        raise StreamDamaged(
            f"{digest} says that it unpacks to {content.size()} bytes: so much was never put",
            hint="`remora trace verify` tells what names it",
        )
    return content


def write_content(folder: int, digest: str, data: bytes, *, packs: bool) -> None:
    """Store `data`: under its name it is whole or absent at every moment. Raises OSError."""
    temporary = f".{digest[:16]}-{secrets.token_hex(4)}"
    file = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder=folder)
    try:
        for piece in compressed_frames(_parts(data)) if packs and data else (data,):
            write_all(file, piece)
        os.rename(temporary, digest, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    finally:
        os.close(file)


def _parts(data: bytes) -> Iterable[bytes]:
    return (data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK))
