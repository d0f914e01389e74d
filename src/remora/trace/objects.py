"""Contents by their SHA-256: what streams refer to and do not hold."""

import os
import re
import secrets
import threading
from contextlib import ExitStack, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

from remora.errors import DiskError, NotFound, StreamDamaged
from remora.trace.group_commit import GroupCommit
from remora.trace.private import (
    enter,
    forget_cached,
    open_file,
    open_folder,
    sync_data,
    told,
    write_all,
)
from remora.trace.sync_pool import SyncPool

_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHUNK = 1 << 20


def is_sha256(text: object) -> bool:
    """Whether `text` is a SHA-256 in lower-case hex."""
    return isinstance(text, str) and _SHA256.fullmatch(text) is not None


class ObjectStore:
    """A folder of files `ab/{sha256}`, each 0600, complete or absent. Several streams share one,
    so several threads may."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._unsynced: set[str] = set()
        self._safe: set[str] = set()  # contents, and first two digits: folders of contents
        self._failure: DiskError | None = None
        self._lock = threading.Lock()
        self._pool = SyncPool()
        self._commit = GroupCommit(self._sync_waiting)

    def put(self, data: bytes) -> str:
        """Store `data` if it is not there yet; its SHA-256. Raises DiskError.

        What was put survives a kill; a power cut only after `sync`.
        """
        digest = sha256(data).hexdigest()
        with told(self.folder / digest[:2] / digest), ExitStack() as stack:
            top = open_folder(self.folder)
            stack.callback(os.close, top)
            folder = enter(top, digest[:2], make=True, sync=False)
            stack.callback(os.close, folder)
            missing = _problem(folder, digest, safe=digest in self._safe) is not None
            if missing:
                _replace(folder, digest, data)
            with self._lock:  # what another process put, it may not have synced
                if missing or digest not in self._safe:
                    self._unsynced.add(digest)
        return digest

    def get(self, digest: str) -> bytes:
        """The content. Raises NotFound, StreamDamaged (it is not what it was) or DiskError."""
        if not is_sha256(digest):
            raise NotFound(f"{digest!r} is not the name of an object")
        path = self.folder / digest[:2] / digest
        try:
            with told(path), _Opened(self.folder, digest) as file:
                data = _read_all(file)
        except DiskError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise NotFound(f"{path} is missing", hint="was it cleaned away?") from error
            raise
        if sha256(data).hexdigest() != digest:
            raise StreamDamaged(f"{path} is not what its name says", hint="remora trace verify")
        return data

    def problem(self, digest: object) -> str | None:
        """What is wrong with a content, null if nothing is; reads it in pieces."""
        if not isinstance(digest, str) or not is_sha256(digest):
            return "is not a SHA-256"
        try:
            with _Opened(self.folder, digest) as file:
                return None if _hash(file) == digest else "is not what its name says"
        except FileNotFoundError:
            return "is missing"
        except OSError as error:
            return f"cannot be read: {error.strerror}"

    def sync(self) -> None:
        """Make all that was put safe against a power cut.

        Raises DiskError, and from then on always: a second try may succeed and prove nothing.
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
            self._pool.run(acts)
        except DiskError as error:
            self._failure = error
            raise
        with self._lock:
            self._unsynced -= waiting
            self._safe |= waiting | prefixes

    def _sync_file(self, digest: str) -> None:
        path = self.folder / digest[:2]
        with told(path), ExitStack() as stack:
            folder = open_folder(path)
            stack.callback(os.close, folder)
            file = open_file(digest, os.O_RDONLY, folder=folder)
            stack.callback(os.close, file)
            sync_data(file)


class _Opened:
    """The descriptor of a stored content, reached through no link below the store's folder."""

    def __init__(self, folder: Path, digest: str) -> None:
        self._path = folder / digest[:2]
        self._digest = digest
        self._stack = ExitStack()

    def __enter__(self) -> int:
        with ExitStack() as stack:
            top = open_folder(self._path.parent)
            stack.callback(os.close, top)
            folder = enter(top, self._path.name)
            stack.callback(os.close, folder)
            file = open_file(self._digest, os.O_RDONLY, folder=folder)
        self._stack.callback(os.close, file)
        return file

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _sync_folder(path: Path) -> None:
    with told(path), ExitStack() as stack:
        folder = open_folder(path)
        stack.callback(os.close, folder)
        os.fsync(folder)


def _problem(folder: int, digest: str, *, safe: bool) -> str | None:
    """As `ObjectStore.problem`: a file cut by a power failure is written anew."""
    try:
        file = open_file(digest, os.O_RDONLY, folder=folder)
    except FileNotFoundError:
        return "is missing"
    try:
        if not safe:
            forget_cached(file)
        return None if _hash(file) == digest else "is not what its name says"
    finally:
        os.close(file)


def _replace(folder: int, digest: str, data: bytes) -> None:
    temporary = f".{digest[:16]}-{secrets.token_hex(4)}"
    file = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, folder=folder)
    try:
        write_all(file, data)
        os.rename(temporary, digest, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    finally:
        os.close(file)


def _hash(file: int) -> str:
    digest = sha256()
    while chunk := os.read(file, _CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _read_all(file: int) -> bytes:
    return b"".join(iter(lambda: os.read(file, _CHUNK), b""))
