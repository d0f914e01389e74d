"""The database's file: private, disposable, and made anew in place where it cannot be right.

It is never replaced or deleted: a reader that has it open goes on with what it saw, and sees the
new content after that. SQLite itself writes the blank content over all, as one transaction.
"""

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from remora.errors import DiskError, HubDamaged
from remora.files.disposable_sqlite import DEFENSIVE, is_refusal
from remora.hub.store.tables import PAGE, blank, first_page, is_current

SUFFIXES = ("", "-wal", "-shm")
LOG_LIMIT = 8 * 1024 * 1024
"""Bytes of the write-ahead log that are kept between transactions."""
_WAIT_S = 2.0
_USUAL = (*DEFENSIVE, "PRAGMA cache_size=-16384")


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors within, as ours.

    Raises DiskError for what the system refuses, HubDamaged for what SQLite cannot make sense of.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise to_hub_error(error, path) from error
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror or error}") from error


def to_hub_error(error: sqlite3.Error, path: Path) -> DiskError:
    """Convert an error of SQLite to DiskError or HubDamaged."""
    if is_refusal(error):
        return DiskError(f"{path}: {error}")
    return HubDamaged(f"{path} is damaged: {error}")


def open_writing(path: Path, generation: int) -> sqlite3.Connection:
    """The database for its one writer, who holds the lock; if it must be made anew, its generation
    is `generation`.

    Raises DiskError where it cannot be had.
    """
    with sqlite_errors(path):
        _make_file(path)
        _mend_head(path, generation)
        connection = _connect(path, "rw")
        try:
            if not _usable(connection):
                reset(connection, generation)
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def open_reading(path: Path) -> sqlite3.Connection | None:
    """The database for a reader, who never writes; None where there is none, or none of ours."""
    try:
        if not all(_is_plain(path, suffix) for suffix in SUFFIXES) or not path.exists():
            return None
        connection = _connect(path, "ro")
    except (OSError, sqlite3.Error):
        return None
    try:
        connection.execute("PRAGMA busy_timeout=20")
        if is_current(connection):
            return connection
    except sqlite3.Error:
        pass
    connection.close()
    return None


def reset(connection: sqlite3.Connection, generation: int) -> None:
    """Whatever it held, it holds the tables of this version now, and knows nothing.

    Raises sqlite3.Error, and TimeoutError where others keep it locked.
    """
    until = time.monotonic() + _WAIT_S

    def still_trying(status: int, _remaining: int, _total: int) -> None:
        if status in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} and time.monotonic() > until:
            raise TimeoutError(errno.ETIMEDOUT, "another program keeps the database locked")

    # else a file that is shorter than it says, or whose tables make no sense, is not written
    connection.execute("PRAGMA writable_schema=ON")
    with closing(blank(generation)) as source:
        source.backup(connection, progress=still_trying, sleep=0.05)
    connection.execute("PRAGMA writable_schema=OFF")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    name = quote(os.fsencode(path.absolute()))
    return sqlite3.connect(
        f"file:{name}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=_WAIT_S,
        check_same_thread=False,
    )


def _usable(connection: sqlite3.Connection) -> bool:
    """False: another version made it, or it makes no sense. Raises sqlite3.Error on refusals."""
    try:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        return bool(size == PAGE) and is_current(connection)
    except sqlite3.Error as error:
        if is_refusal(error):
            raise
        return False


def _prepare(connection: sqlite3.Connection) -> None:
    for pragma in (*_USUAL, f"PRAGMA journal_size_limit={LOG_LIMIT}"):
        connection.execute(pragma)
    # after a power cut the newest transactions may be missing: the files themselves tell
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA journal_mode=WAL")


def _make_file(path: Path) -> None:
    for suffix in SUFFIXES:
        if not _is_plain(path, suffix):
            raise OSError(f"{path.name}{suffix} is a link, or belongs to another user")
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags, 0o600))
    except FileExistsError:
        # not opened and closed: that would take away the locks of this process's own readers
        if stat.S_IMODE(path.lstat().st_mode) != 0o600:
            path.chmod(0o600)


def _is_plain(path: Path, suffix: str) -> bool:
    try:
        status = os.lstat(f"{path}{suffix}")
    except FileNotFoundError:
        return True
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def _mend_head(path: Path, generation: int) -> None:
    """Make what SQLite would not open at all a database of the right kind, though an odd one.

    Its readers fail already; from here on SQLite can give them a new content.
    """
    if _opens(path):
        return
    # stays open as long as this process lives: closing it would take its readers' locks away
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    os.pwrite(file, first_page(generation), 0)


def _opens(path: Path) -> bool:
    size = path.stat().st_size
    if size == 0:  # SQLite waits for ever where an empty file has a log
        return not Path(f"{path}-wal").exists()
    with closing(_connect(path, "rw")) as connection:
        try:
            connection.execute("PRAGMA writable_schema=ON")  # a shorter file is mended by `reset`
            connection.execute("PRAGMA schema_version").fetchone()  # the first that reads the file
            (page,) = connection.execute("PRAGMA page_size").fetchone()
        except sqlite3.Error as error:
            if is_refusal(error):
                raise
            return False
        return bool(page == PAGE)
