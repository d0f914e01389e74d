"""The database file, which is private and disposable. An unusable database is reset in place.

The file is never replaced or deleted. A reader that has it open therefore keeps its snapshot, and
sees the new content later.
"""

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from remora.errors import DiskError, HubDamaged, undo_on_error
from remora.files.disposable_sqlite import DEFENSIVE, is_refusal
from remora.hub.store.owner_lock import is_lock, lock_of
from remora.hub.store.tables import PAGE, blank, first_page, is_current

SUFFIXES = ("", "-wal", "-shm")
LOG_LIMIT = 8 * 1024 * 1024
"""Maximum bytes of the write-ahead log that stay allocated between transactions."""
_WAIT_S = 2.0
_OUR_TABLES = frozenset({"meta", "file_index", "node_state"})
"""Tables in a Hub database of any version."""
_USUAL = (*DEFENSIVE, "PRAGMA cache_size=-16384")


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Convert SQLite and OS errors raised in the block.

    Invalid content becomes HubDamaged, and a system error becomes DiskError.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise to_hub_error(error, path) from error
    except OSError as error:
        raise DiskError(f"{path}: {error.strerror or error}") from error


def to_hub_error(error: sqlite3.Error, path: Path) -> DiskError:
    """Convert an SQLite error to DiskError or HubDamaged."""
    if is_refusal(error):
        return DiskError(f"{path}: {error}")
    return HubDamaged(f"{path} is damaged: {error}")


def open_writing(path: Path, generation: int) -> sqlite3.Connection:
    """Open the database for its only writer.

    If the database has to be reset, `generation` is its new generation. Raises DiskError if it
    cannot be opened.
    """
    with sqlite_errors(path):
        _make_file(path)
        _mend_head(path, generation)
        connection = _connect(path, "rw")
        with undo_on_error(connection.close):
            if not _is_usable(connection):
                reset(connection, generation)
            _prepare(connection)
    return connection


def open_reading(path: Path) -> sqlite3.Connection | None:
    """Open the database read-only. Return None if it is not a Hub database of this version."""
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


def is_foreign(path: Path) -> bool:
    """Return True if the file at `path` is not a Hub database of any version.

    A missing or empty file is not foreign. Nothing is written.
    """
    try:
        if path.is_file() and path.stat().st_size == 0:
            return False
        path.lstat()
        tables = {name for (name,) in read_untouched(path, "SELECT name FROM sqlite_master")}
    except FileNotFoundError:
        return False
    except (OSError, sqlite3.Error):
        return os.path.lexists(path) and not is_lock(lock_of(path))
    return not tables >= _OUR_TABLES


def read_untouched(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Query a database without creating a log or a lock next to it. Raises sqlite3.Error."""
    with closing(_connect(path, "ro&immutable=1")) as connection:
        return connection.execute(sql).fetchall()


def reset(connection: sqlite3.Connection, generation: int) -> None:
    """Reset the database to the empty tables of this version.

    Raises sqlite3.Error on failure, and TimeoutError if another program keeps the database locked.
    """
    until = time.monotonic() + _WAIT_S

    def still_trying(status: int, _remaining: int, _total: int) -> None:
        if status in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} and time.monotonic() > until:
            raise TimeoutError(errno.ETIMEDOUT, "the database is locked by another program")

    # without this, a truncated file or one with invalid tables cannot be written
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


def _is_usable(connection: sqlite3.Connection) -> bool:
    """Return True if the tables are valid and belong to this version.

    Raises sqlite3.Error if the system refuses access.
    """
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
    # a power cut may lose the newest transactions; the next sweep restores them
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
        # do not open and close the file: that would release the locks of this process's readers
        if stat.S_IMODE(path.lstat().st_mode) != 0o600:
            path.chmod(0o600)


def _is_plain(path: Path, suffix: str) -> bool:
    try:
        status = os.lstat(f"{path}{suffix}")
    except FileNotFoundError:
        return True
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def _mend_head(path: Path, generation: int) -> None:
    """Overwrite the header of a file that SQLite refuses to open, so that the file can be reset."""
    if _opens(path):
        return
    # stays open until the process exits: closing it would release the locks of its readers
    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    os.pwrite(file, first_page(generation), 0)


def _opens(path: Path) -> bool:
    size = path.stat().st_size
    if size == 0:  # SQLite waits forever if an empty file has a log
        return not Path(f"{path}-wal").exists()
    with closing(_connect(path, "rw")) as connection:
        try:
            connection.execute("PRAGMA writable_schema=ON")  # `reset` repairs a truncated file
            connection.execute("PRAGMA schema_version").fetchone()  # the first to read the file
            (page,) = connection.execute("PRAGMA page_size").fetchone()
        except sqlite3.Error as error:
            if is_refusal(error):
                raise
            return False
        return bool(page == PAGE)
