"""Compression of streams from `{id}.jsonl` to `{id}.jsonl.zst`, and decompression for writing.

At least one complete file exists at all times. If both exist, the plain file is current, unless it
is empty. An empty plain file is left over from a writer that was killed before it decompressed the
stream. All changes are made with the lock of the current file; a writer also locks the plain one.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from remora.errors import StreamDamaged, StreamError
from remora.regular_file import closing_fd
from remora.trace import stream_lock
from remora.trace.content.byte_source import FileSource, read_pieces, sha256_of
from remora.trace.content.private_files import disk_errors, new_file, open_file, open_folder
from remora.trace.content.zstd_file import compressed, decompressed
from remora.trace.trace_folder import compressed_path

_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT


def compress_stream(path: Path) -> int:
    """Replace the plain stream with a compressed file, and return the new size in bytes.

    The plain file is removed only after the compressed file has been verified. Raises StreamLocked
    if a writer has locked the stream, StreamError if the stream is empty or was moved, DiskError if
    a file cannot be read or written, and StreamDamaged if decompression does not restore the same
    bytes.
    """
    compressed_name = compressed_path(path).name
    with locked_file(path) as (file, folder):
        source = FileSource(file)
        if not source.size():
            raise StreamError(f"{path.name} is empty, so there is nothing to compress")
        with new_file(compressed_name, compressed(read_pieces(source)), folder) as (name, target):
            os.fsync(target)
            content = decompressed(FileSource(target), compressed_name)
            if sha256_of(content) != sha256_of(read_pieces(source)):
                raise StreamDamaged(
                    "decompression does not restore the same bytes; the stream was not changed"
                )
            if not _is_at(file, path.name, folder):
                raise StreamError(f"{path.name} was moved or replaced while it was compressed")
            os.rename(name, compressed_name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)  # the compressed file is safe before the plain one is removed
        os.unlink(path.name, dir_fd=folder)
        os.fsync(folder)
        return os.stat(compressed_name, dir_fd=folder).st_size


@contextmanager
def locked_file(path: Path) -> Iterator[tuple[int, int]]:
    """Lock the current file of a stream as it is. Yield the opened file, and its folder.

    If it is compressed, a writer cannot decompress it. Raises StreamLocked if a writer has locked
    it, StreamError if it was moved or replaced a moment ago, and DiskError.
    """
    with (
        disk_errors(path),
        closing_fd(open_folder(path.parent)) as folder,
        closing_fd(open_file(path.name, os.O_RDONLY, folder=folder)) as file,
    ):
        stream_lock.lock_stream(file, path)
        if not _is_at(file, path.name, folder):
            raise StreamError(f"{path.name} was moved or replaced a moment ago")
        yield file, folder


def open_for_writing(path: Path) -> int:
    """Open and lock the plain file of a stream, which is created or decompressed if needed.

    Raises StreamLocked if another writer has locked it, StreamDamaged if the compressed file is
    invalid, StreamError if it was moved or replaced a moment ago, and DiskError if a file cannot be
    read or written.
    """
    with disk_errors(path), closing_fd(open_folder(path.parent)) as folder:
        while True:
            with ExitStack() as on_failure:
                file = open_file(path.name, _APPEND, folder=folder)
                on_failure.callback(os.close, file)
                stream_lock.lock_stream(file, path)
                if not _is_at(file, path.name, folder):  # compressed or decompressed in between
                    continue
                if os.fstat(file).st_size or not os.path.lexists(compressed_path(path)):
                    on_failure.pop_all()
                    return file
                try:
                    return _decompress(path, folder)
                finally:
                    if _is_at(file, path.name, folder):  # still the empty file
                        os.unlink(path.name, dir_fd=folder)


def _decompress(path: Path, folder: int) -> int:
    """Replace an empty, locked plain file with the content of the compressed one.

    Return the new plain file, which is locked before other processes see it.
    """
    compressed_name = compressed_path(path).name
    with (
        locked_file(compressed_path(path)) as (file, _),
        new_file(path.name, decompressed(FileSource(file), compressed_name), folder) as new,
    ):
        name, target = new
        os.fsync(target)
        stream_lock.lock_stream(target, path)
        os.rename(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)  # the plain file is safe before the compressed one is removed
        os.unlink(compressed_name, dir_fd=folder)
        return os.dup(target)  # it shares the lock


def _is_at(file: int, name: str, folder: int) -> bool:
    with suppress(FileNotFoundError):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return os.path.samestat(status, os.fstat(file))
    return False
