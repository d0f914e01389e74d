"""Streams that are over, kept compressed: sealed to `{id}.jsonl.zst`, and thawed to be written.

Both steps leave at every moment at least one whole file. Where both are there the plain one is
the stream, unless it is empty: then it is what a writer made that was killed before it thawed.
"""

import fcntl
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from remora.errors import StreamDamaged, StreamError
from remora.trace import stream_lock
from remora.trace.content.byte_source import ByteSource, FileSource, read_pieces, sha256_of
from remora.trace.content.private_files import disk_errors, open_file, open_folder, write_all
from remora.trace.content.zstd_frames import FramesSource, compressed_frames
from remora.trace.trace_folder import compressed_path, plain_path

TEMPORARY_SUFFIX = "~"
"""What the name of a file ends with that is not whole yet; after a kill it is left over."""


def compressed_size(path: Path) -> int:
    """Bytes that the sealed file of this plain stream would have; nothing is written."""
    with disk_errors(path), _folder_of(path) as folder, _file(path.name, folder) as file:
        return sum(map(len, compressed_frames(read_pieces(FileSource(file)))))


def compress_stream(path: Path) -> int:
    """Replace the plain stream at `path` by its sealed form; the bytes of that.

    Raises StreamLocked (it has a live writer), StreamDamaged (the sealed form does not give the
    same bytes back: the plain one stays), StreamError (it is empty) or DiskError.
    """
    sealed = compressed_path(path).name
    with disk_errors(path), _folder_of(path) as folder, _file(path.name, folder) as file:
        stream_lock.lock_stream(file, path)
        if not os.fstat(file).st_size:
            raise StreamError(f"{path.name} is empty: there is nothing to seal")
        with _made(f".{sealed}", folder) as (name, target):
            digest = sha256()
            for piece in compressed_frames(_seen(read_pieces(FileSource(file)), digest.update)):
                write_all(target, piece)
            os.fsync(target)
            if (
                sha256_of(read_pieces(FramesSource(FileSource(target), sealed)))
                != digest.hexdigest()
            ):
                raise StreamDamaged(
                    "what was sealed does not give the same bytes back: it was left as it was"
                )
            if not _is_at(file, path.name, folder):
                raise StreamError(f"{path.name} was moved or replaced while it was sealed")
            with suppress(FileNotFoundError), _file(sealed, folder) as before:
                stream_lock.lock_stream(
                    before, path
                )  # it was thawed just now: let that come to its end
            os.rename(name, sealed, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)  # before the plain file goes, the sealed one is safe
        os.unlink(path.name, dir_fd=folder)
        os.fsync(folder)
        return os.stat(sealed, dir_fd=folder).st_size


def decompress_stream(path: Path) -> None:
    """Put the plain stream at `path` back if it is only there in its sealed form, to be written.

    Several processes may: one does it, the others find it done. A writer asks `is_current_stream` when
    it has opened and locked the file. Raises StreamDamaged or DiskError.
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
            _write_plain(FramesSource(FileSource(file), sealed), plain, folder)
            os.unlink(sealed, dir_fd=folder)  # what seals the stream anew waits for our lock
            os.fsync(folder)


def is_current_stream(file: int, path: Path) -> bool:
    """Whether what a writer opened at `path` and locked is the stream: the name still means this
    file, and it is not an empty one beside a sealed stream. If not, thaw and open again."""
    with disk_errors(path), _folder_of(path) as folder:
        is_stream = (
            os.fstat(file).st_size > 0 or _status(compressed_path(path).name, folder) is None
        )
        return is_stream and _is_at(file, path.name, folder)


def _write_plain(content: ByteSource, plain: str, folder: int) -> None:
    with _made(f".{plain}", folder) as (name, target):
        for piece in read_pieces(content):
            write_all(target, piece)
        os.fsync(target)
        with suppress(FileNotFoundError), _file(plain, folder) as empty:
            # whoever opened it has yet to look whether it is the stream: it waits, then sees
            fcntl.flock(empty, fcntl.LOCK_EX)
            os.unlink(plain, dir_fd=folder)
        os.link(name, plain, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def _seen(pieces: Iterator[bytes], see: Callable[[bytes], object]) -> Iterator[bytes]:
    for piece in pieces:
        see(piece)
        yield piece


@contextmanager
def _folder_of(path: Path) -> Iterator[int]:
    folder = open_folder(path.parent)
    try:
        yield folder
    finally:
        os.close(folder)


@contextmanager
def _file(name: str, folder: int, flags: int = os.O_RDONLY) -> Iterator[int]:
    file = open_file(name, flags, folder=folder)
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def _made(name: str, folder: int) -> Iterator[tuple[str, int]]:
    """A new file with a name of its own, which goes if it was not renamed."""
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
    """None for what is not there."""
    with suppress(FileNotFoundError):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    return None
