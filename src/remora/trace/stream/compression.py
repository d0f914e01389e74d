"""Compression of streams from `{id}.jsonl` to `{id}.jsonl.zst`, and decompression.

At least one complete file exists at all times. If both exist, the plain file is current, unless it
is empty. An empty plain file is left over from a writer that was killed before it decompressed the
stream.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from remora.errors import StreamDamaged, StreamError
from remora.regular_file import closing_fd
from remora.trace import stream_lock
from remora.trace.content.byte_source import FileSource, read_pieces, sha256_of
from remora.trace.content.private_files import disk_errors, open_file, open_folder, write_all
from remora.trace.content.zstd_file import compressed, decompressed
from remora.trace.trace_folder import compressed_path, plain_path

TEMPORARY_SUFFIX = "~"
"""File name suffix of an unfinished file; a killed process leaves such a file behind."""


def compress_stream(path: Path) -> int:
    """Replace the plain stream with a compressed file, and return the new size in bytes.

    The plain file is removed only after the compressed file has been verified. Raises StreamLocked
    if a writer has locked the stream, StreamError if the stream is empty or was moved, DiskError if
    a file cannot be read or written, and StreamDamaged if decompression does not restore the same
    bytes.
    """
    sealed = compressed_path(path).name
    with disk_errors(path), _folder_of(path) as folder, _file(path.name, folder) as file:
        stream_lock.lock_stream(file, path)
        if not os.fstat(file).st_size:
            raise StreamError(f"{path.name} is empty, so there is nothing to compress")
        with _temporary_file(f".{sealed}", folder) as (name, target):
            digest = sha256_of(read_pieces(FileSource(file)))
            for piece in compressed(read_pieces(FileSource(file))):
                write_all(target, piece)
            os.fsync(target)
            if sha256_of(decompressed(FileSource(target), sealed)) != digest:
                raise StreamDamaged(
                    "decompression does not restore the same bytes; the stream was not changed"
                )
            if not _is_at(file, path.name, folder):
                raise StreamError(f"{path.name} was moved or replaced while it was compressed")
            with suppress(FileNotFoundError), _file(sealed, folder) as before:
                stream_lock.lock_stream(before, path)  # wait for a process that is decompressing it
            os.rename(name, sealed, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)  # the compressed file is safe before the plain one is removed
        os.unlink(path.name, dir_fd=folder)
        os.fsync(folder)
        return os.stat(sealed, dir_fd=folder).st_size


def decompress_stream(path: Path) -> None:
    """Restore the plain stream for writing if it exists only as a compressed file.

    Several processes may call this at the same time. A writer must then check `is_current_stream`.
    Raises StreamDamaged if the compressed file is invalid, and DiskError if a file cannot be read
    or written.
    """
    sealed, plain = compressed_path(path).name, plain_path(path).name
    with disk_errors(path), ExitStack() as stack:
        folder = stack.enter_context(_folder_of(path))
        try:
            file = stack.enter_context(_file(sealed, folder))
        except FileNotFoundError:
            return
        fcntl.flock(file, fcntl.LOCK_EX)
        written = _status(plain, folder)
        if _is_at(file, sealed, folder) and (written is None or not written.st_size):
            _write_plain(decompressed(FileSource(file), sealed), plain, folder)
            os.unlink(sealed, dir_fd=folder)  # another compression waits for this lock
            os.fsync(folder)


def is_current_stream(file: int, path: Path) -> bool:
    """Return True if the locked file is still the current file of the stream.

    Otherwise, the caller must decompress the stream and open it again.
    """
    with disk_errors(path), _folder_of(path) as folder:
        is_stream = (
            os.fstat(file).st_size > 0 or _status(compressed_path(path).name, folder) is None
        )
        return is_stream and _is_at(file, path.name, folder)


def _write_plain(content: Iterator[bytes], plain: str, folder: int) -> None:
    with _temporary_file(f".{plain}", folder) as (name, target):
        for piece in content:
            write_all(target, piece)
        os.fsync(target)
        with suppress(FileNotFoundError), _file(plain, folder) as empty:
            # a writer that opened it waits for this lock, then detects that it is not the stream
            fcntl.flock(empty, fcntl.LOCK_EX)
            os.unlink(plain, dir_fd=folder)
        os.link(name, plain, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def _folder_of(path: Path) -> AbstractContextManager[int]:
    return closing_fd(open_folder(path.parent))


def _file(name: str, folder: int, flags: int = os.O_RDONLY) -> AbstractContextManager[int]:
    return closing_fd(open_file(name, flags, folder=folder))


@contextmanager
def _temporary_file(name: str, folder: int) -> Iterator[tuple[str, int]]:
    """Create a file with a unique name. It is removed at the end of the block, unless it was
    renamed.
    """
    name = f"{name}-{secrets.token_hex(4)}{TEMPORARY_SUFFIX}"
    with _file(name, folder, os.O_RDWR | os.O_CREAT | os.O_EXCL) as file:
        try:
            yield name, file
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def _is_at(file: int, name: str, folder: int) -> bool:
    status = _status(name, folder)
    return status is not None and os.path.samestat(status, os.fstat(file))


def _status(name: str, folder: int) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return None
