"""The file `index.db`: private, disposable, and never believed where it cannot be right."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from remora.files.disposable_sqlite import (
    DEFENSIVE,
    has_tables,
    is_blank,
    is_refusal,
    make_tables,
    transaction,
)
from remora.trace.content.private_files import open_file, open_folder

NAME, LOCK = "index.db", "index.lock"
VERSION = 1
_WAIT_S, _PAUSE_S = 2.0, 0.01
_TABLES = (
    "CREATE TABLE streams (id INTEGER PRIMARY KEY, agent_id TEXT NOT NULL UNIQUE, run_id TEXT, "
    "operation TEXT, node_id TEXT, attempt INTEGER, started TEXT, inode INTEGER, "
    "file_size INTEGER, mtime_ns INTEGER, turns INTEGER, mark BLOB)",
    "CREATE TABLE states (stream INTEGER PRIMARY KEY, state BLOB, mark BLOB)",
    "CREATE TABLE turns (stream INTEGER, turn INTEGER, call INTEGER, tool TEXT, outcome TEXT, "
    'decided_by TEXT, prompt_tokens INTEGER, ms INTEGER, began TEXT, ended TEXT, "begin" INTEGER, '
    '"end" INTEGER, "offset" INTEGER, size INTEGER, seq INTEGER, hash TEXT, mark BLOB, '
    "PRIMARY KEY (stream, turn, call)) WITHOUT ROWID",
    'CREATE TABLE packets (stream INTEGER, turn INTEGER, "offset" INTEGER, '
    "hash TEXT, packet BLOB, mark BLOB, PRIMARY KEY (stream, turn))",
    # for people with a SQLite shell: the keys that `trace get` takes
    "CREATE VIEW trace AS SELECT 'trace:' || run_id || ':' || operation || ':' || node_id || ':' "
    "|| turn || iif(call > 1, '#' || call, '') || '@' || agent_id AS key, tool, outcome, "
    'decided_by, prompt_tokens, ms, began, ended, "offset", size, seq, hash '
    "FROM turns JOIN streams ON stream = id WHERE hash IS NOT NULL",
)
_PRAGMAS = (
    *DEFENSIVE,
    # Nothing is synced: a kill loses nothing, and after a power cut the marks and SQLite's own
    # checks find what is missing.
    "PRAGMA synchronous=OFF",
    # Not WAL: that leaves two more files about, and one at a time has the database anyway.
    "PRAGMA journal_mode=DELETE",
    # What is deleted is overwritten: expired streams leave nothing.
    "PRAGMA secure_delete=ON",
)
Value = str | int | bytes | None


class IndexUnusable(Exception):
    """The index cannot be had now (locked, read-only, full disk): answer without it."""


class IndexLies(Exception):
    """The index is not what was written: throw it away and build it again."""


def mark(*values: Value) -> bytes:
    """A checksum of a row's values: whoever edits the file by hand forgets it."""
    return blake2b(msgspec.json.encode(values), digest_size=8).digest()


@contextmanager
def database(folder: Path, *, fresh: bool = False) -> Iterator[sqlite3.Connection]:
    """The index in `folder`, made where it is absent or of another version; `fresh` throws away
    what is there.

    One at a time has it: a lock of ours stands beside the file, since one who throws away a
    database that another one has open damages the next. Raises IndexUnusable and IndexLies,
    also for what SQLite raises within.
    """
    with ExitStack() as stack:
        with _refused():
            parent = open_folder(folder)
            stack.callback(os.close, parent)
            _take(parent, stack)
            if fresh:
                _remove(parent)
            os.close(open_file(NAME, os.O_RDWR | os.O_CREAT, folder=parent))
        with _told():
            connection = sqlite3.connect(folder / NAME, timeout=0.05, isolation_level=None)
            stack.callback(connection.close)
            _prepare(connection)
            yield connection


def _take(parent: int, stack: ExitStack) -> None:
    lock = open_file(LOCK, os.O_RDWR | os.O_CREAT, folder=parent)
    stack.callback(os.close, lock)
    deadline = time.monotonic() + _WAIT_S
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() > deadline:
            raise IndexUnusable("another process keeps the index busy")
        time.sleep(_PAUSE_S)


def _remove(parent: int) -> None:
    # the journal first: an old one would be taken for that of the new database
    for name in (f"{NAME}-journal", f"{NAME}-wal", f"{NAME}-shm", NAME):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)


def _prepare(connection: sqlite3.Connection) -> None:
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    if is_blank(connection):
        with transaction(connection):
            make_tables(connection, _TABLES, VERSION)
    elif not has_tables(connection, _TABLES, VERSION):
        raise IndexLies("another version made it")


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise IndexUnusable(str(error)) from error


@contextmanager
def _told() -> Iterator[None]:
    """SQLite's errors as ours: what the system refuses is no fault of the file."""
    try:
        yield
    except sqlite3.Error as error:
        if is_refusal(error):
            raise IndexUnusable(str(error)) from error
        raise IndexLies(str(error)) from error
