"""Listening Unix socket in a private folder; a dead daemon's socket is replaced after a check."""

import fcntl
import os
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path

from remora.config.user_folders import make_private
from remora.errors import DiskError, OutsideError

BACKLOG = 1024


class Listener:
    """A bound and listening socket, and the lock which says that its path is ours."""

    def __init__(self, path: Path) -> None:
        """Raises OutsideError where another live process has the path, or something else lies
        there, and DiskError where it cannot be made."""
        self.path = path
        try:
            _private_folder(path.parent)
            self._lock = _locked(path)
            try:
                self.socket = _bound(path)
            except BaseException:
                os.close(self._lock)
                raise
        except OSError as error:
            raise DiskError(f"{path}: {error.strerror or error}") from error
        self._inode = path.lstat().st_ino

    def lost(self) -> bool:
        """True if the path leads elsewhere now, as after a clean-up."""
        try:
            return self.path.lstat().st_ino != self._inode
        except OSError:
            return True

    def close(self) -> None:
        """Remove the socket if it is still ours, and let go of the path."""
        with suppress(OSError):
            if not self.lost():
                self.path.unlink()
            _lock_path(self.path).unlink()
        self.socket.close()
        os.close(self._lock)


def is_ours(peer: socket.socket) -> bool:
    """Whether the process at the other end runs as our user; where no system tells, the folder's
    rights alone keep others out."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(uid == os.geteuid())


def _private_folder(folder: Path) -> None:
    """Ours is only for us; a folder that somebody named is as they made it."""
    make_private(folder)
    # looked at last: in a folder that all may write another user can be quicker than we
    if folder.lstat().st_uid not in (os.geteuid(), 0):
        raise OutsideError(
            f"{folder} belongs to another user",
            hint="name a socket elsewhere with --socket",
        )


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _locked(path: Path) -> int:
    """A descriptor that holds the lock of a socket's path."""
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(_lock_path(path), flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _check_empty(lock, path)
            # a daemon that ended took its lock file away: then it is another file now
            if os.fstat(lock).st_ino == _lock_path(path).lstat().st_ino:
                return lock
        except FileNotFoundError:
            pass
        except BlockingIOError:
            os.close(lock)
            raise OutsideError(
                f"another process serves {path}", hint="name another socket with --socket"
            ) from None
        os.close(lock)


def _check_empty(lock: int, path: Path) -> None:
    """Ours holds nothing, and is removed at the end."""
    if os.fstat(lock).st_size > 0:
        os.close(lock)
        raise OutsideError(
            f"{_lock_path(path)} is not a lock of the Hub",
            hint="name another socket with --socket",
        )


def _bound(path: Path) -> socket.socket:
    """The lock is ours: a socket that lies there has nobody behind it."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise OutsideError(
                f"{path} exists and is not a socket", hint="name another path with --socket"
            )
        _check_dead(path)
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        before = os.umask(0o177)
        try:
            made.bind(os.fspath(path))
        finally:
            os.umask(before)
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def _check_dead(path: Path) -> None:
    """A path that somebody named may be another program's, which knows nothing of our lock."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return
    raise OutsideError(f"another process serves {path}", hint="name another socket with --socket")
