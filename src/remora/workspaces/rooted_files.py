"""File access that cannot leave a folder, even if links are created in it at the same time."""

import errno
import functools
import os
import secrets
import stat as st
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

from remora.errors import HostError, undo_on_error
from remora.files.patterns import glob_regex
from remora.regular_file import FOLDER, READ_NO_FOLLOW, closing_fd, open_by_parts
from remora.text import clip, too_large
from remora.workspaces.file_syscalls import openat2

READ_LIMIT = 16 * 1024 * 1024
FILE_LIMIT = 1024 * 1024 * 1024
"""Maximum size of a user's file that is copied in pieces, in bytes."""
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1024 * 1024
_MAX_SHOWN = 200
_SPECIAL = frozenset("*?[\\")
"""Characters of globs that may not stand for themselves."""
_Names = list[str]
Content = bytes | Iterable[bytes]
"""Bytes to write, or pieces of them."""
_LINKED = {errno.ELOOP, errno.EXDEV, errno.ENOTDIR}


class RootedFiles:
    """Access to the regular files under `root`. Paths are POSIX paths relative to the root.

    Paths are resolved relative to open folders, and symbolic links are never followed. All methods
    raise HostError if a path is absolute or empty, or contains `..` or NUL. They also raise it for
    system errors, and if the path is not a regular file. The message contains the path.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def read_bytes(self, rel: str, *, limit: int = READ_LIMIT) -> bytes:
        """Return the content of a file.

        Raises HostError if the file is larger than `limit` bytes.
        """
        return b"".join(self.pieces(rel, limit=limit))

    def pieces(self, rel: str, *, limit: int = FILE_LIMIT) -> Iterator[bytes]:
        """Yield the content of a file in pieces.

        Raises HostError, before the first piece if possible, if the file is larger than `limit`
        bytes.
        """
        with self.open_parent(rel) as (folder, name), _host_errors(rel):
            handle = os.open(name, READ_NO_FOLLOW, dir_fd=folder)
            with os.fdopen(handle, "rb", buffering=0) as file:
                size = _regular(rel, os.fstat(handle)).st_size
                read = 0
                # one byte more than there should be, because the file may grow meanwhile
                while size <= limit and (piece := file.read(min(_PIECE, size + 1 - read))):
                    read += len(piece)
                    size = max(size, read)
                    if size <= limit:
                        yield piece
        if size > limit:
            raise HostError(f"{clip(rel, _MAX_SHOWN)}: {too_large(size, limit)}")

    def write_bytes(self, rel: str, data: Content, *, mode: int | None = None) -> None:
        """Replace an existing file atomically. If `mode` is None, the mode of the file is kept."""
        with self.open_parent(rel) as (folder, name), _host_errors(rel):
            before = os.stat(name, dir_fd=folder, follow_symlinks=False)
            _regular(rel, before)
            temporary = os.fsencode(f".remora-{secrets.token_hex(8)}")
            write_new_file(
                folder, temporary, data, st.S_IMODE(before.st_mode) if mode is None else mode
            )
            try:
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(temporary, dir_fd=folder)
                raise

    def create(self, rel: str, data: Content, mode: int = 0o644) -> None:
        """Write a new file. Missing parent folders are created."""
        with self.open_parent(rel, make=True) as (folder, name), _host_errors(rel):
            write_new_file(folder, name, data, mode)

    def put(self, rel: str, data: Content, *, mode: int | None = None) -> None:
        """Replace an existing file like `write_bytes`, or write a new one like `create`."""
        if self.exists(rel):
            self.write_bytes(rel, data, mode=mode)
        else:
            self.create(rel, data, 0o644 if mode is None else mode)

    def remove(self, rel: str) -> None:
        with self.open_parent(rel) as (folder, name), _host_errors(rel):
            _regular(rel, os.stat(name, dir_fd=folder, follow_symlinks=False))
            os.unlink(name, dir_fd=folder)

    def stat(self, rel: str) -> os.stat_result:
        """Return the `stat` result of a regular file."""
        with self.open_parent(rel) as (folder, name), _host_errors(rel):
            return _regular(rel, os.stat(name, dir_fd=folder, follow_symlinks=False))

    def exists(self, rel: str) -> bool:
        """Return True if the path is a regular file and no component of it is a link."""
        _parts(rel)
        try:
            self.stat(rel)
        except HostError:
            return False
        return True

    def is_folder(self, rel: str) -> bool:
        """Return True if the path is a folder and no component of it is a link."""
        path = "/".join(_parts(rel))
        try:
            os.close(self._open(path, FOLDER))
        except OSError:
            return False
        return True

    def glob(self, pattern: str, *, look: Callable[[], object] | None = None) -> _Names:
        """Return the regular files that match `pattern`, sorted by path.

        `look` is called before each folder is read, and may raise an exception to stop the search.
        """
        parts = _parts(pattern)
        pattern_regex = glob_regex("/".join(parts))
        deep = "**" in pattern
        depth = len(parts) - 1
        found: _Names = []
        fixed = takewhile(_SPECIAL.isdisjoint, parts[:-1])
        waiting = ["".join(f"{part}/" for part in fixed)]
        while waiting:
            prefix = waiting.pop()
            if look is not None:
                look()
            folders, files = self._entries(prefix)
            found += [path for path in files if pattern_regex.fullmatch(path)]
            if deep or prefix.count("/") < depth:
                waiting += [path + "/" for path in folders]
        return sorted(found)

    def _entries(self, prefix: str) -> tuple[_Names, _Names]:
        """Return the folders and regular files in `prefix`, which is empty or ends with `/`."""
        folders: _Names = []
        files: _Names = []
        # the folder may have been removed or replaced by a link
        with suppress(OSError):
            opened = closing_fd(self._open(prefix.rstrip("/"), _LIST))
            with opened as handle, os.scandir(handle) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(prefix + entry.name)
                    elif entry.is_file(follow_symlinks=False):
                        files.append(prefix + entry.name)
        return folders, files

    @contextmanager
    def open_parent(self, rel: str, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
        """Open the parent folder of `rel`. Yield its descriptor and the file name.

        With `make`, missing folders are created.
        """
        *folders, name = _parts(rel)
        with _host_errors(rel):
            try:
                folder = self._open("/".join(folders), FOLDER)
            except FileNotFoundError:
                if not make:
                    raise
                self._make(folders)
                folder = self._open("/".join(folders), FOLDER)
        with closing_fd(folder):
            yield folder, os.fsencode(name)

    def _open(self, rel: str, flags: int) -> int:
        # links in the path of the root itself are followed
        root = os.open(self.root, flags & ~os.O_NOFOLLOW)
        if not rel:
            return root
        with closing_fd(root):
            return _open_folder(root, os.fsencode(rel), flags)

    def _make(self, parts: _Names) -> None:
        for count, part in enumerate(parts):
            opened = closing_fd(self._open("/".join(parts[:count]), FOLDER))
            with opened as folder, suppress(FileExistsError):
                os.mkdir(part, 0o777, dir_fd=folder)


def write_new_file(folder: int, name: bytes, data: Content, mode: int) -> None:
    """Write a new file with exactly the given mode. If the write fails, remove the file."""
    handle = os.open(name, _NEW, 0o600, dir_fd=folder)
    with undo_on_error(os.unlink, name, dir_fd=folder), os.fdopen(handle, "wb") as file:
        os.fchmod(handle, mode)
        file.writelines((data,) if isinstance(data, bytes) else data)


@functools.cache
def _has_openat2() -> bool:
    with closing_fd(os.open("/", FOLDER)) as root:
        try:
            os.close(openat2(root, b".", FOLDER))
        except OSError:
            return False
    return True


def _open_folder(root: int, rel: bytes, flags: int) -> int:
    return openat2(root, rel, flags) if _has_openat2() else open_by_parts(root, rel, flags)


def _problem(rel: str) -> str:
    parts = rel.split("/")
    if rel.startswith("/"):
        return "is absolute; paths are relative to the root"
    if ".." in parts:
        return "contains `..`; paths cannot leave the root"
    if not any(part not in ("", ".") for part in parts):
        return "names no file"
    if "\0" in rel:
        return "contains a NUL byte"
    return ""


def _parts(rel: str) -> list[str]:
    if problem := _problem(rel):
        raise HostError(f"{clip(rel, _MAX_SHOWN)!r}: {problem}")
    try:
        os.fsencode(rel)
    except UnicodeEncodeError as error:
        raise HostError(f"{clip(rel, _MAX_SHOWN)!r}: invalid file name") from error
    return [part for part in rel.split("/") if part not in ("", ".")]


def _regular(rel: str, status: os.stat_result) -> os.stat_result:
    if st.S_ISLNK(status.st_mode):
        raise HostError(f"{clip(rel, _MAX_SHOWN)}: is a symbolic link; links are never followed")
    if not st.S_ISREG(status.st_mode):
        raise HostError(f"{clip(rel, _MAX_SHOWN)}: is not a regular file")
    return status


@contextmanager
def _host_errors(rel: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise HostError(f"{clip(rel, _MAX_SHOWN)}: no such file") from error
    except FileExistsError as error:
        raise HostError(f"{clip(rel, _MAX_SHOWN)}: already exists") from error
    except OSError as error:
        if error.errno in _LINKED:
            detail = "part of the path is a symbolic link or not a folder"
            raise HostError(f"{clip(rel, _MAX_SHOWN)}: {detail}") from error
        raise HostError(f"{clip(rel, _MAX_SHOWN)}: {error.strerror}") from error
