"""Functions to list stored objects and blobs, find those that are referenced, and
remove the rest.
"""

import fcntl
import os
import re
from collections.abc import Collection, Iterator
from contextlib import ExitStack, suppress
from itertools import groupby
from pathlib import Path
from typing import Literal

import msgspec

from remora.trace.content.byte_source import read_pieces
from remora.trace.content.objects import ObjectStore, is_sha256
from remora.trace.content.private_files import disk_errors, open_folder, open_subfolder
from remora.trace.read.reader import open_stream
from remora.trace.trace_folder import TraceFolder

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
    for store, path in (("blobs", folder.blobs.folder), ("objects", folder.objects.folder)):
        with disk_errors(path):
            for name, status in _files(path):
                if is_sha256(name):
                    yield StoredContent(
                        store="blobs" if store == "blobs" else "objects",
                        digest=name,
                        bytes=status.st_size,
                        put=status.st_mtime,
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


def _files(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files in the subfolders of a store, without following links."""
    with suppress(FileNotFoundError), os.scandir(path) as prefixes:
        for prefix in sorted(prefixes, key=lambda entry: entry.name):
            if prefix.is_dir(follow_symlinks=False):
                with os.scandir(prefix.path) as entries:
                    for entry in sorted(entries, key=lambda entry: entry.name):
                        if entry.is_file(follow_symlinks=False):
                            yield entry.name, entry.stat(follow_symlinks=False)
