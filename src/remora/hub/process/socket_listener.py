"""Listening Unix socket in a private folder.

An existing socket is replaced if no process is listening on it.
"""

import fcntl
import os
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path

from remora.config.user_folders import make_private
from remora.errors import DiskError, OutsideError, undo_on_error

BACKLOG = 1024


class Listener:
    """A listening socket and the lock for its path."""

    def __init__(self, path: Path) -> None:
        """Bind the socket.

        Raises OutsideError if the path is in use, and DiskError if the socket cannot be created.
        """
        self.path = path
        try:
            _private_folder(path.parent)
            self._lock = _lock_socket(path)
            with undo_on_error(os.close, self._lock):
                self.socket = _bind_socket(path)
        except OSError as error:
            raise DiskError(f"{path}: {error.strerror or error}") from error
        self._inode = path.lstat().st_ino

    def is_lost(self) -> bool:
        """Return True if the socket file was deleted or replaced."""
        try:
            return self.path.lstat().st_ino != self._inode
        except OSError:
            return True

    def close(self) -> None:
        """Close the socket and release the lock.

        The socket file is removed unless it was replaced.
        """
        with suppress(OSError):
            if not self.is_lost():
                self.path.unlink()
            _lock_path(self.path).unlink()
        self.socket.close()
        os.close(self._lock)


def is_ours(peer: socket.socket) -> bool:
    """Return True if the peer process belongs to the same user.

    If the system does not support this check, always return True. In that case, only file
    permissions protect the socket.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(uid == os.geteuid())


def _private_folder(folder: Path) -> None:
    """Create a folder that is accessible only to the user, unless it exists.

    Raises OutsideError if the folder belongs to another user.
    """
    make_private(folder)
    # checked last: in a shared folder, another user may have created it first
    if folder.lstat().st_uid not in (os.geteuid(), 0):
        raise OutsideError(
            f"{folder} belongs to another user", hint="choose another folder with --socket"
        )


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _lock_socket(path: Path) -> int:
    """Lock the path of a socket and return a file descriptor that holds the lock.

    Raises OutsideError if another process holds the lock.
    """
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(_lock_path(path), flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _check_empty(lock, path)
            # if an exiting daemon removed its lock file, the path has another file now
            if os.fstat(lock).st_ino == _lock_path(path).lstat().st_ino:
                return lock
        except FileNotFoundError:
            pass
        except BlockingIOError:
            os.close(lock)
            raise OutsideError(
                f"another process is listening on {path}", hint="choose another path with --socket"
            ) from None
        os.close(lock)


def _check_empty(lock: int, path: Path) -> None:
    """Raise OutsideError if the lock file is not empty.

    The lock file of a Hub socket is always empty.
    """
    if os.fstat(lock).st_size > 0:
        os.close(lock)
        raise OutsideError(
            f"{_lock_path(path)} is not a Hub lock file", hint="choose another path with --socket"
        )


def _bind_socket(path: Path) -> socket.socket:
    """Bind a listening socket at `path`, replacing an unused socket.

    The caller must hold the lock, so that no other Hub can be listening.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise OutsideError(
                f"{path} exists and is not a socket", hint="choose another path with --socket"
            )
        _check_dead(path)
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    with undo_on_error(listening.close):
        before = os.umask(0o177)
        try:
            listening.bind(os.fspath(path))
        finally:
            os.umask(before)
        listening.listen(BACKLOG)
    return listening


def _check_dead(path: Path) -> None:
    """Raise OutsideError if any program is listening on the path, even one without the lock."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return
    raise OutsideError(
        f"another process is listening on {path}", hint="choose another path with --socket"
    )
