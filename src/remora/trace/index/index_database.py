"""Index database `index.db`. It is private and disposable."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from remora.files.disposable_sqlite import (
    DEFENSIVE,
    has_tables,
    is_blank,
    is_refusal,
    make_tables,
    transaction,
)
from remora.trace.content.private_files import open_file, open_folder

INDEX_FILE, LOCK_FILE = "index.db", "index.lock"
VERSION = 1
_WAIT_S, _PAUSE_S = 2.0, 0.01
_TABLES = (
    "CREATE TABLE streams (id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL UNIQUE, run_id TEXT, "
    "operation TEXT, node_id TEXT, attempt INTEGER, started TEXT, inode INTEGER, "
    "file_size INTEGER, mtime_ns INTEGER, turns INTEGER)",
    "CREATE TABLE states (stream INTEGER PRIMARY KEY, state BLOB)",
    "CREATE TABLE turns (stream INTEGER, turn INTEGER, call INTEGER, tool TEXT, outcome TEXT, "
    'decided_by TEXT, prompt_tokens INTEGER, ms INTEGER, began TEXT, ended TEXT, "begin" INTEGER, '
    '"end" INTEGER, "offset" INTEGER, size INTEGER, seq INTEGER, hash TEXT, '
    "PRIMARY KEY (stream, turn, call)) WITHOUT ROWID",
    'CREATE TABLE packets (stream INTEGER, turn INTEGER, "offset" INTEGER, '
    "hash TEXT, packet BLOB, PRIMARY KEY (stream, turn))",
    # for use in a SQLite shell: shows the keys that `trace get` accepts
    "CREATE VIEW trace AS SELECT 'trace:' || run_id || ':' || operation || ':' || node_id || ':' "
    "|| turn || iif(call > 1, '#' || call, '') || '@' || agent_id AS key, tool, outcome, "
    'decided_by, prompt_tokens, ms, began, ended, "offset", size, seq, hash '
    "FROM turns JOIN streams ON stream = id WHERE hash IS NOT NULL",
)
_PRAGMAS = (
    *DEFENSIVE,
    # No syncing: a killed process loses nothing. After a power cut, the stored numbers of rows and
    # SQLite's checks detect missing data.
    "PRAGMA synchronous=OFF",
    # Not WAL: it creates two more files, and only one process at a time uses the database.
    "PRAGMA journal_mode=DELETE",
    # Overwrite deleted rows, so that nothing of an expired stream remains on disk.
    "PRAGMA secure_delete=ON",
)
Value = str | int | bytes | None


class IndexUnusable(Exception):
    """The index is locked or read-only, or the disk is full.

    Read the streams instead.
    """


class IndexCorrupted(Exception):
    """The index is damaged or was created by another version. Delete and rebuild it."""


@contextmanager
def database(folder: Path, *, fresh: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the index in `folder`. Create it if it is missing.

    With `fresh`, delete the existing index first. A lock file allows only one process at a time.
    Without it, a process could delete a database that another process has open, and the new
    database could be damaged. Raises IndexUnusable, IndexCorrupted.
    """
    with ExitStack() as stack:
        with _os_errors():
            parent = open_folder(folder)
            stack.callback(os.close, parent)
            _lock(parent, stack)
            if fresh:
                _remove(parent)
            os.close(open_file(INDEX_FILE, os.O_RDWR | os.O_CREAT, folder=parent))
        with _sqlite_errors():
            connection = sqlite3.connect(folder / INDEX_FILE, timeout=0.05, isolation_level=None)
            stack.callback(connection.close)
            _prepare(connection)
            yield connection


def _lock(parent: int, stack: ExitStack) -> None:
    lock = open_file(LOCK_FILE, os.O_RDWR | os.O_CREAT, folder=parent)
    stack.callback(os.close, lock)
    deadline = time.monotonic() + _WAIT_S
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() > deadline:
            raise IndexUnusable("another process is using the index")
        time.sleep(_PAUSE_S)


def _remove(parent: int) -> None:
    # the journal first: SQLite would apply an old journal to the new database
    for name in (f"{INDEX_FILE}-journal", f"{INDEX_FILE}-wal", f"{INDEX_FILE}-shm", INDEX_FILE):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)


def _prepare(connection: sqlite3.Connection) -> None:
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except UnicodeDecodeError as error:  # SQLite's message quotes the damaged schema
        raise IndexCorrupted("the schema is damaged") from error
    if is_blank(connection):
        with transaction(connection):
            make_tables(connection, _TABLES, VERSION)
    elif not has_tables(connection, _TABLES, VERSION):
        raise IndexCorrupted("created by another version")


@contextmanager
def _os_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IndexUnusable(str(error)) from error


@contextmanager
def _sqlite_errors() -> Iterator[None]:
    """Convert SQLite errors to IndexUnusable or IndexCorrupted.

    Raises IndexUnusable if the system refuses an operation, because the file is not necessarily
    damaged.
    """
    try:
        yield
    except sqlite3.Error as error:
        if is_refusal(error):
            raise IndexUnusable(str(error)) from error
        raise IndexCorrupted(str(error)) from error
