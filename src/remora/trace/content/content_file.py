"""Files in the object store.

They are opened without following links, read in pieces, and written atomically.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from remora.errors import StreamDamaged
from remora.trace.content.byte_source import ByteSource, FileSource
from remora.trace.content.line_format import MAX_LINE
from remora.trace.content.private_files import open_file, open_folder, open_subfolder, write_all
from remora.trace.content.zstd_frames import MAGIC, FramesSource

MAX_COMPRESSED_CONTENT = MAX_LINE
"""Maximum decompressed bytes of a stored object. A small file can declare any size."""


@contextmanager
def open_digest_folder(top: Path, digest: str) -> Iterator[int]:
    """Open the folder that is named after the first two digits of a hash, without following links.

    Raises OSError.
    """
    with ExitStack() as stack:
        store = open_folder(top)
        stack.callback(os.close, store)
        folder = open_subfolder(store, digest[:2])
        stack.callback(os.close, folder)
        yield folder


@contextmanager
def open_content(folder: int, digest: str, *, packs: bool) -> Iterator[ByteSource]:
    """Open a stored object for reading, and decompress it if needed. Raises OSError, or
    StreamDamaged if the compressed data is invalid.
    """
    file = open_file(digest, os.O_RDONLY, folder=folder)
    try:
        source = FileSource(file)
        # older stores hold plain text, which never begins with MAGIC
        yield _decompressed(source, digest) if packs and source.pread(4, 0) == MAGIC else source
    finally:
        os.close(file)


def _decompressed(source: ByteSource, digest: str) -> ByteSource:
    content = FramesSource(source, digest)
    if content.size() > MAX_COMPRESSED_CONTENT:
        raise StreamDamaged(
            f"{digest} declares {content.size()} decompressed bytes, which "
            "is more than the store accepts",
            hint="`remora trace verify` shows which streams refer to it",
        )
    return content


def write_content(folder: int, digest: str, pieces: Iterable[bytes]) -> None:
    """Store pieces atomically, so that the file is either complete or absent. Raises OSError."""
    temporary = f".{digest[:16]}-{os.urandom(4).hex()}"
    file = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder=folder)
    try:
        for piece in pieces:
            write_all(file, piece)
        os.rename(temporary, digest, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    finally:
        os.close(file)
