"""Locks of files and folders, which end with the process that has them."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[int]:
    """Lock a file, which is created if it is missing, and set its time to now.

    Yield its descriptor. If this process is killed, the lock lasts until all processes that got the
    descriptor have ended.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        os.utime(file)
        yield file
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)  # also if git left a process, such as a credential cache
        os.close(file)


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Try to lock an existing file or folder for the duration of the block.

    Yield True if the lock was acquired. Raises OSError if the path is missing or a link.
    """
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(file)
