"""Locks of files and folders, which end with the process that has them."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from remora.config.user_folders import make_private
from remora.errors import DiskError, RemoraError
from remora.regular_file import closing_fd


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
def only_process(lock: Path, refusal: RemoraError) -> Iterator[None]:
    """Keep out other processes that use the same file as their lock, which is created.

    Raises `refusal` if one has it, and DiskError if it cannot be created in its private folder.
    """
    with ExitStack() as stack:
        try:
            make_private(lock.parent)
            lock.touch(mode=0o600)
            is_free = stack.enter_context(try_lock(lock))
        except OSError as error:
            raise DiskError(f"{lock}: {error.strerror or error}") from error
        if not is_free:
            raise refusal
        yield


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Try to lock an existing file or folder for the duration of the block.

    Yield True if the lock was acquired. Raises OSError if the path is missing or a link.
    """
    with closing_fd(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
