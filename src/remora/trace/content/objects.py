"""Object store for content that streams refer to by SHA-256."""

import fcntl
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache, partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from remora.errors import DiskError, NotFound, StreamDamaged, StreamError
from remora.regular_file import closing_fd
from remora.trace.content.byte_source import FileSource, read_pieces, sha256_of
from remora.trace.content.group_commit import GroupCommit
from remora.trace.content.line_format import MAX_LINE
from remora.trace.content.private_files import (
    disk_errors,
    drop_page_cache,
    new_file,
    open_file,
    open_folder,
    open_inner_folder,
    open_subfolder,
    sync_data,
    sync_folder,
)
from remora.trace.content.zstd_file import compressed, decompressed
from remora.workspaces.rooted_files import FILE_LIMIT

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_SHA256 = re.compile(r"[0-9a-f]{64}")
MAX_COMPRESSED_CONTENT = MAX_LINE
"""Maximum decompressed bytes of a stored blob. A small file can declare any size."""


def is_sha256(text: object) -> bool:
    """Return True if `text` is a SHA-256 in lowercase hex."""
    return isinstance(text, str) and _SHA256.fullmatch(text) is not None


class ObjectStore:
    """Object store in a folder, shared by threads and processes.

    Each object is a file `ab/{sha256}` with mode 0600. The file is either complete or absent.
    """

    def __init__(self, folder: Path, *, packs: bool = False) -> None:
        """Create a store for `folder`. With `packs`, objects are compressed."""
        self.folder = folder
        self._packs = packs
        self._unsynced: set[str] = set()
        self._safe: set[str] = set()  # synced digests, and two-digit names of synced folders
        self._failure: DiskError | None = None
        self._lock = threading.Lock()
        self._commit = GroupCommit(self._sync_waiting)

    def put(self, data: bytes) -> str:
        """Store `data` if it is not stored yet, and return its SHA-256.

        The object survives a crash of the process. After `sync`, it also survives a power failure.
        If it is already stored, its modification time is updated, because unreferenced objects are
        deleted by age. Raises DiskError, or StreamError if `data` is too large.
        """
        if self._packs and len(data) > MAX_COMPRESSED_CONTENT:
            raise StreamError(f"content of {len(data)} bytes is too large to record")
        digest = sha256(data).hexdigest()
        pieces = compressed((data,)) if self._packs else (data,)
        self.put_pieces(digest, pieces)
        return digest

    def put_pieces(self, digest: str, pieces: Iterable[bytes]) -> None:
        """Store the content with the hash `digest`, in pieces as they are in the file.

        The same holds as for `put`.
        """
        with disk_errors(self.folder / digest[:2] / digest), ExitStack() as stack:
            top = open_folder(self.folder)
            stack.callback(os.close, top)
            fcntl.flock(top, fcntl.LOCK_SH)  # removal of unreferenced contents locks it exclusively
            folder = open_subfolder(top, digest[:2], make=True, sync=False)
            stack.callback(os.close, folder)
            missing = not self._refresh(folder, digest)
            if missing:
                with new_file(digest, pieces, folder) as (temporary, _):
                    os.rename(temporary, digest, src_dir_fd=folder, dst_dir_fd=folder)
            with self._lock:  # another process may have stored it without syncing it
                if missing or digest not in self._safe:
                    self._unsynced.add(digest)

    def get(self, digest: str) -> bytes:
        """Return the content of an object.

        Raises NotFound if the object is missing, DiskError if it cannot be read, and StreamDamaged
        if the content does not match its hash.
        """
        whole = BytesIO()
        for piece in self.pieces(digest):
            whole.write(piece)
        return whole.getvalue()

    def pieces(self, digest: str) -> Iterator[bytes]:
        """Yield the content of an object in pieces.

        Raises whatever `get` raises. A hash mismatch is reported only after the last piece.
        """
        if not is_sha256(digest):
            raise NotFound(f"{digest!r} is not a SHA-256")
        path = self.folder / digest[:2] / digest
        found = sha256()
        try:
            with disk_errors(path):
                for piece in self._read(digest):
                    found.update(piece)
                    yield piece
        except DiskError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise NotFound(
                    f"{path} is missing", hint="it may have been removed by `remora clean`"
                ) from error
            raise
        if found.hexdigest() != digest:
            raise StreamDamaged(
                f"{path} does not match its hash", hint="check it with `remora trace verify`"
            )

    def problem(self, digest: object) -> str | None:
        """Return a description of the damage to a stored object, or None if it is intact.

        The object is read in pieces.
        """
        if not isinstance(digest, str) or not is_sha256(digest):
            return "is not a SHA-256"
        try:
            found = sha256_of(self._read(digest))
        except FileNotFoundError:
            return "is missing"
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        except StreamDamaged:
            return "does not match its hash"
        return None if found == digest else "does not match its hash"

    def _read(self, digest: str) -> Iterator[bytes]:
        with open_inner_folder(self.folder, digest[:2]) as folder:
            yield from _read_content(folder, digest, packs=self._packs)

    def _refresh(self, folder: int, digest: str) -> bool:
        """Update the object's modification time.

        Return False if the object is missing or damaged.
        """
        with suppress(FileNotFoundError, StreamDamaged):
            with closing_fd(open_file(digest, os.O_RDONLY, folder=folder)) as file:
                if digest not in self._safe:
                    drop_page_cache(file)
                os.utime(file)
            return sha256_of(_read_content(folder, digest, packs=self._packs)) == digest
        return False

    def sync(self) -> None:
        """Sync all stored objects to disk, so that they survive a power failure.

        Raises DiskError. After a failure, all later calls raise the same error.
        """
        self._commit.run()

    def _sync_waiting(self) -> None:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            waiting = set(self._unsynced)
        prefixes = {digest[:2] for digest in waiting}
        acts = [partial(self._sync_file, digest) for digest in sorted(waiting)]
        acts += [partial(_sync_folder, self.folder / prefix) for prefix in sorted(prefixes)]
        if not prefixes <= self._safe:
            acts.append(partial(_sync_folder, self.folder))
        try:
            run_all(acts)
        except DiskError as error:
            self._failure = error
            raise
        with self._lock:
            self._unsynced -= waiting
            self._safe |= waiting | prefixes

    def _sync_file(self, digest: str) -> None:
        path = self.folder / digest[:2]
        with (
            disk_errors(path),
            closing_fd(open_folder(path)) as folder,
            closing_fd(open_file(digest, os.O_RDONLY, folder=folder)) as file,
        ):
            sync_data(file)


def _read_content(folder: int, digest: str, *, packs: bool) -> Iterator[bytes]:
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


def _sync_folder(path: Path) -> None:
    with disk_errors(path):
        sync_folder(path)


_WIDTH = 4
"""Files that are synced at once. Decision."""


def run_all(acts: Sequence[Callable[[], None]]) -> None:
    """Run all actions, at most four at once, and wait for them.

    Raises the exception of the first action in `acts` that failed.
    """
    if len(acts) == 1:
        acts[0]()
        return
    ended = [_threads(os.getpid()).submit(act) for act in acts]
    problems = [future.exception() for future in ended]
    for problem in filter(None, problems):
        raise problem


@cache
def _threads(_process: int) -> "ThreadPoolExecutor":
    """Return the threads of a process, which are kept because a sync takes less time than a start."""
    from concurrent.futures import ThreadPoolExecutor  # imports logging, which readers do not need

    return ThreadPoolExecutor(_WIDTH, "remora-sync")
