"""Removal of streams, of stored objects and blobs, and of what killed processes left behind."""

import fcntl
import os
import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby, takewhile
from pathlib import Path
from typing import Literal

import msgspec

from remora.errors import StreamLocked
from remora.regular_file import closing_fd
from remora.trace import stream_lock
from remora.trace.content.byte_source import read_pieces
from remora.trace.content.objects import ObjectStore, is_sha256
from remora.trace.content.private_files import (
    disk_errors,
    open_folder,
    open_read_only,
    open_subfolder,
    sync_folder,
)
from remora.trace.read.reader import open_stream
from remora.trace.stream.compression import TEMPORARY_SUFFIX
from remora.trace.stream.recovery import quarantine_names
from remora.trace.trace_folder import TraceFolder, compressed_path, plain_path

StoreName = Literal["blobs", "objects"]
_NAME = re.compile(rb'"([0-9a-f]{64})"')
_LENGTH = 66


class StoredContent(msgspec.Struct, frozen=True, kw_only=True):
    """A stored object or blob.

    `bytes` is its size on disk. `put` is the time when it was last stored, as a Unix timestamp.
    """

    store: StoreName
    digest: str
    bytes: int
    put: float


def stored_contents(folder: TraceFolder) -> Iterator[StoredContent]:
    """Yield all stored blobs and objects. Raises DiskError if a store cannot be read."""
    stores: tuple[tuple[StoreName, Path], ...] = (
        ("blobs", folder.blobs.folder),
        ("objects", folder.objects.folder),
    )
    for store, path in stores:
        for entry in _files(path):
            if is_sha256(entry.name):
                with disk_errors(path):
                    status = entry.stat(follow_symlinks=False)
                yield StoredContent(
                    store=store, digest=entry.name, bytes=status.st_size, put=status.st_mtime
                )


def referenced_contents(path: Path, known: Collection[str]) -> frozenset[str]:
    """Return the hashes in `known` that a stream references.

    Every JSON string that is a SHA-256 counts as a reference.
    """
    found: set[bytes] = set()
    with open_stream(path) as source:
        rest = b""
        for piece in read_pieces(source):
            found.update(_NAME.findall(rest + piece))
            rest = piece[-_LENGTH:] if len(piece) >= _LENGTH else rest + piece
    return frozenset(known) & {name.decode() for name in found}


def remove_contents(store: ObjectStore, digests: Collection[str], put_before: float) -> set[str]:
    """Remove objects that were last stored before `put_before`, and return their hashes.

    The store is locked during the removal, so a concurrent `put` waits. A `put` that ran earlier
    has updated the modification time of its object, so the object is kept. Raises DiskError.
    """
    removed: set[str] = set()
    for prefix, group in groupby(sorted(digests), key=lambda digest: digest[:2]):
        place = store.folder / prefix
        with disk_errors(place), suppress(FileNotFoundError), ExitStack() as stack:
            top = open_folder(store.folder)
            stack.callback(os.close, top)
            fcntl.flock(top, fcntl.LOCK_EX)
            folder = open_subfolder(top, prefix)
            stack.callback(os.close, folder)
            for digest in group:
                with suppress(FileNotFoundError):
                    status = os.stat(digest, dir_fd=folder, follow_symlinks=False)
                    if status.st_mtime < put_before:
                        os.unlink(digest, dir_fd=folder)
                        removed.add(digest)
    return removed


@contextmanager
def compaction_lock(folder: TraceFolder) -> Iterator[None]:
    """Lock the folder so that no other compaction can run.

    Raises StreamLocked if another compaction is running, and DiskError if the folder cannot be
    opened.
    """
    with disk_errors(folder.path):
        file = open_folder(folder.path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StreamLocked(
            f"another process removes or compresses streams ({stream_lock.lock_owner(file)})",
            hint="wait until it finishes",
        ) from error
    else:
        yield
    finally:
        os.close(file)


@contextmanager
def locked_stream(path: Path) -> Iterator[int]:
    """Lock a stream against writers, and yield its size in bytes.

    Raises StreamLocked if a writer has locked it, and DiskError if it cannot be opened.
    """
    with disk_errors(path):
        file = open_read_only(path)
    with closing_fd(file):
        stream_lock.lock_stream(file, path)
        yield os.fstat(file).st_size


def remove_stream(path: Path) -> None:
    """Remove a stream and all its files, such as torn tails in quarantine.

    The compressed file is removed first. If it were left over after an interruption, it would be
    taken for the stream.
    """
    torn = map(path.with_name, quarantine_names(plain_path(path).name))
    with disk_errors(path):
        for place in (compressed_path(path), plain_path(path), *takewhile(os.path.lexists, torn)):
            place.unlink(missing_ok=True)
        sync_folder(path.parent)


def remove_unfinished_files(folder: TraceFolder, made_before: float) -> None:
    """Remove unfinished files that killed processes left behind.

    Only files last modified before `made_before` (a Unix timestamp) are removed.
    """
    found = [entry for place in (folder.traces, folder.runs) for entry in _files_in(place)]
    found = [entry for entry in found if entry.name.endswith(TEMPORARY_SUFFIX)]
    found += [*_files(folder.blobs.folder), *_files(folder.objects.folder)]
    for entry in found:
        path = Path(entry.path)
        if path.name.startswith("."):
            with disk_errors(path), suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_mtime < made_before:
                    path.unlink()


def _files(store: Path) -> Iterator[os.DirEntry[str]]:
    """Yield the files in the subfolders of a store, without following links."""
    for prefix in _entries(store):
        if prefix.is_dir(follow_symlinks=False):
            yield from _files_in(Path(prefix.path))


def _files_in(place: Path) -> list[os.DirEntry[str]]:
    return [entry for entry in _entries(place) if entry.is_file(follow_symlinks=False)]


def _entries(place: Path) -> list[os.DirEntry[str]]:
    with disk_errors(place), suppress(FileNotFoundError), os.scandir(place) as entries:
        return sorted(entries, key=lambda entry: entry.name)
    return []
