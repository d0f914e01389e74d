"""Transactions, schema checks and error classification for private, disposable SQLite files."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

DEFENSIVE = ("PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON", "PRAGMA temp_store=MEMORY")
"""Settings for a file that another program may have changed."""
_PRIMARY = 0xFF  # bits of an extended error code with the primary code
_REFUSALS = frozenset(
    {
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    }
)


def is_refusal(error: sqlite3.Error) -> bool:
    """Return True if the system refused access, or False if the file is damaged.

    A damaged file must be recreated.
    """
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    return code & _PRIMARY in _REFUSALS and code != sqlite3.SQLITE_IOERR_SHORT_READ


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all changes made in the block or none of them, even if the process is killed."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def has_tables(connection: sqlite3.Connection, tables: Sequence[str], version: int) -> bool:
    """Return True if the file has exactly these tables and this version.

    Raises sqlite3.Error if the file cannot be read.
    """
    return _schema(connection) == (version, sorted(tables))


def make_tables(connection: sqlite3.Connection, tables: Sequence[str], version: int) -> None:
    """Create the tables in a blank file and set its version. Raises sqlite3.Error on failure."""
    for statement in tables:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version={version}")


def _schema(connection: sqlite3.Connection) -> tuple[int, list[str]]:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")
    return version, sorted(sql for (sql,) in rows)
