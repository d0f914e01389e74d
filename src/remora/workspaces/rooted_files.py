"""File access that cannot leave one folder, whatever links appear in it meanwhile."""

import errno
import functools
import os
import secrets
import stat as st
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from remora.errors import HostError
from remora.files.patterns import glob_regex
from remora.workspaces.file_syscalls import openat2

READ_LIMIT = 16 * 1024 * 1024
FILE_LIMIT = 1024 * 1024 * 1024
"""Bytes of a file of the user's that is copied or merged; a larger one is refused."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_SHOWN = 200
_Names = list[str]  # inside the class, `list` is a method
_LINKED = {errno.ELOOP, errno.EXDEV, errno.ENOTDIR}


class RootedFiles:
    """The regular files beneath `root`, by root-relative POSIX path.

    Every path is resolved by descriptors, part by part and through no symbolic link, so that a
    link made between check and use changes nothing. All methods raise HostError, which names
    the path, for a path that is absolute, empty, holds `..` or NUL, or begins with `-`; for a
    link or anything but a regular file; and where the system refuses.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def read_bytes(self, rel: str, *, limit: int = READ_LIMIT) -> bytes:
        """The file's content; a file of more than `limit` bytes is refused."""
        with self.open_parent(rel) as (folder, name), _told(rel):
            handle = os.open(name, _READ, dir_fd=folder)
            with os.fdopen(handle, "rb") as file:
                _regular(rel, os.fstat(handle))
                content = file.read(limit + 1)
        if len(content) > limit:
            raise HostError(f"{_shown(rel)}: larger than {limit} bytes")
        return content

    def write_bytes(self, rel: str, data: bytes, *, mode: int | None = None) -> None:
        """Replace an existing file in one step (new file, then rename); `mode` None keeps its."""
        with self.open_parent(rel) as (folder, name), _told(rel):
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

    def create(self, rel: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file that is not there yet, with the folders on the way to it."""
        with self.open_parent(rel, make=True) as (folder, name), _told(rel):
            write_new_file(folder, name, data, mode)

    def remove(self, rel: str) -> None:
        """Delete a regular file."""
        with self.open_parent(rel) as (folder, name), _told(rel):
            _regular(rel, os.stat(name, dir_fd=folder, follow_symlinks=False))
            os.unlink(name, dir_fd=folder)

    def stat(self, rel: str) -> os.stat_result:
        """The status of a regular file."""
        with self.open_parent(rel) as (folder, name), _told(rel):
            return _regular(rel, os.stat(name, dir_fd=folder, follow_symlinks=False))

    def exists(self, rel: str) -> bool:
        """Whether a regular file is there, reached through no link."""
        _parts(rel)
        try:
            self.stat(rel)
        except HostError:
            return False
        return True

    def is_folder(self, rel: str) -> bool:
        """Whether a folder is there, reached through no link."""
        path = "/".join(_parts(rel))
        try:
            os.close(self._open(path, _FOLDER))
        except OSError:
            return False
        return True

    def glob(self, pattern: str, *, look: Callable[[], object] | None = None) -> _Names:
        """Regular files that match the glob (`**` spans folders), sorted; links are left out.

        `look` is called before each folder, and ends the search by raising.
        """
        wanted = glob_regex("/".join(_parts(pattern)))
        deep = "**" in pattern
        depth = pattern.count("/")
        found: _Names = []
        waiting = [""]
        while waiting:
            prefix = waiting.pop()
            if look is not None:
                look()
            folders, files = self._entries(prefix)
            found += [path for path in files if wanted.fullmatch(path)]
            if deep or prefix.count("/") < depth:
                waiting += [path + "/" for path in folders]
        return sorted(found)

    def _entries(self, prefix: str) -> tuple[_Names, _Names]:
        """Folders and regular files right beneath `prefix` (empty, or ending in `/`)."""
        folders: _Names = []
        files: _Names = []
        # a folder that went away or was swapped for a link while we listed has nothing for us
        with suppress(OSError):
            handle = self._open(prefix.rstrip("/"), _LISTED)
            try:
                with os.scandir(handle) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(prefix + entry.name)
                        elif entry.is_file(follow_symlinks=False):
                            files.append(prefix + entry.name)
            finally:
                os.close(handle)
        return folders, files

    @contextmanager
    def open_parent(self, rel: str, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
        """A descriptor of the folder that holds `rel`, and the last name; `make` makes folders."""
        *above, name = _parts(rel)
        with _told(rel):
            try:
                folder = self._open("/".join(above), _FOLDER)
            except FileNotFoundError:
                if not make:
                    raise
                self._make(above)
                folder = self._open("/".join(above), _FOLDER)
        try:
            yield folder, os.fsencode(name)
        finally:
            os.close(folder)

    def _open(self, rel: str, flags: int) -> int:
        # the root itself is the caller's word: links on the way to it are followed
        root = os.open(self.root, flags & ~os.O_NOFOLLOW)
        if not rel:
            return root
        try:
            return _open_folder(root, os.fsencode(rel), flags)
        finally:
            os.close(root)

    def _make(self, parts: _Names) -> None:
        for count, part in enumerate(parts):
            folder = self._open("/".join(parts[:count]), _FOLDER)
            try:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o777, dir_fd=folder)
            finally:
                os.close(folder)


def write_new_file(folder: int, name: bytes, data: bytes, mode: int) -> None:
    """Write a file that must not exist yet, with exactly `mode`; half a file is never left."""
    handle = os.open(name, _NEW, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            file.write(data)
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise


@functools.cache
def _has_openat2() -> bool:
    root = os.open("/", _FOLDER)
    try:
        os.close(openat2(root, b".", _FOLDER))
    except OSError:
        return False
    finally:
        os.close(root)
    return True


def _open_folder(root: int, rel: bytes, flags: int) -> int:
    return openat2(root, rel, flags) if _has_openat2() else open_by_parts(root, rel, flags)


def open_by_parts(root: int, rel: bytes, flags: int) -> int:
    """What `openat2` does in one call, part by part: for kernels that lack it."""
    handle = root
    parts = rel.split(b"/")
    try:
        for count, part in enumerate(parts, 1):
            deeper = os.open(part, flags if count == len(parts) else _FOLDER, dir_fd=handle)
            if handle != root:
                os.close(handle)
            handle = deeper
    except OSError:
        if handle != root:
            os.close(handle)
        raise
    return handle


def _shown(rel: str) -> str:
    """A path in a message: what is wrong with it comes after it, and must not be cut off."""
    return rel if len(rel) <= _SHOWN else rel[: _SHOWN - 1] + "…"


def _problem(rel: str) -> str:
    parts = rel.split("/")
    if rel.startswith("/"):
        return "is absolute; paths are relative to the root"
    if ".." in parts:
        return "holds `..`; paths stay beneath the root"
    if not any(part not in ("", ".") for part in parts):
        return "names no file"
    if "\0" in rel:
        return "holds a NUL byte"
    if next(part for part in parts if part not in ("", ".")).startswith("-"):
        return "begins with `-`, which commands would take for an option"
    return ""


def _parts(rel: str) -> list[str]:
    problem = _problem(rel)
    if problem:
        raise HostError(f"{_shown(rel)!r}: {problem}")
    try:
        os.fsencode(rel)
    except UnicodeEncodeError as error:
        raise HostError(f"{_shown(rel)!r}: no file can have this name") from error
    return [part for part in rel.split("/") if part not in ("", ".")]


def _regular(rel: str, status: os.stat_result) -> os.stat_result:
    if st.S_ISLNK(status.st_mode):
        raise HostError(f"{_shown(rel)}: is a symbolic link; links are never followed")
    if not st.S_ISREG(status.st_mode):
        raise HostError(f"{_shown(rel)}: is no regular file")
    return status


@contextmanager
def _told(rel: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise HostError(f"{_shown(rel)}: no such file") from error
    except FileExistsError as error:
        raise HostError(f"{_shown(rel)}: exists already") from error
    except OSError as error:
        if error.errno in _LINKED:
            detail = "a part of the path is a symbolic link or no folder"
            raise HostError(f"{_shown(rel)}: {detail}") from error
        raise HostError(f"{_shown(rel)}: {error.strerror}") from error
