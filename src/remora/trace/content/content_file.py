"""Files in the object store.

They are opened without following links, read in pieces, and written atomically.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from remora.errors import StreamDamaged
from remora.regular_file import closing_fd
from remora.trace.content.byte_source import FileSource, read_pieces
from remora.trace.content.line_format import MAX_LINE
from remora.trace.content.private_files import open_file, write_all
from remora.trace.content.zstd_file import decompressed
from remora.workspaces.rooted_files import FILE_LIMIT

MAX_COMPRESSED_CONTENT = MAX_LINE
"""Maximum decompressed bytes of a stored blob. A small file can declare any size."""


def read_content(folder: int, digest: str, *, packs: bool) -> Iterator[bytes]:
    """Yield a stored object in pieces, decompressed if needed.

    Raises OSError, or StreamDamaged if the compressed data is invalid or the object is too large.
    """
    with closing_fd(open_file(digest, os.O_RDONLY, folder=folder)) as file:
        source = FileSource(file)
        if packs:
            yield from decompressed(source, digest, MAX_COMPRESSED_CONTENT)
        elif source.size() > FILE_LIMIT:
            raise StreamDamaged(
                f"{digest} has {source.size()} bytes, which is more than the store accepts",
                hint="`remora trace verify` shows which streams refer to it",
            )
        else:
            yield from read_pieces(source)


def write_content(folder: int, digest: str, pieces: Iterable[bytes]) -> None:
    """Store pieces atomically, so that the file is either complete or absent. Raises OSError."""
    temporary = f".{digest[:16]}-{os.urandom(4).hex()}"
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with closing_fd(open_file(temporary, new, folder=folder)) as file:
        try:
            for piece in pieces:
                write_all(file, piece)
            os.rename(temporary, digest, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
