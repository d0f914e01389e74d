"""Tables of the Hub's database, and a blank database that is used for resets."""

import sqlite3
import sys

from remora.code.file_facts import FACTS_VERSION
from remora.files.disposable_sqlite import has_tables, make_tables

TABLES_VERSION = 3
LINKS_VERSION = 11
"""Version of the linker's results. Increase it when they change for the same program."""
VERSION = sys.version_info.minor << 24 | TABLES_VERSION << 20 | LINKS_VERSION << 10 | FACTS_VERSION
"""Version of the tables and their content, with that of Python, which parses the files.

A database of another version is reset."""
PAGE = 4096
"""Page size in bytes. A database with another page size cannot be overwritten in place."""
TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE file_index (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER, "
    "mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER, file_hash TEXT NOT NULL, "
    "partial INTEGER NOT NULL, detail TEXT NOT NULL)",
    # definitions, references, imports, bases and aliases of a file: the linker's input
    "CREATE TABLE file_facts (file INTEGER PRIMARY KEY, lowered BLOB NOT NULL)",
    "CREATE TABLE mentions (name TEXT NOT NULL, file INTEGER NOT NULL, PRIMARY KEY (name, file)) "
    "WITHOUT ROWID",
    "CREATE TABLE node_state (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, "
    "file_path TEXT NOT NULL, place INTEGER NOT NULL, node_name TEXT NOT NULL, "
    "node_type TEXT NOT NULL, source_hash TEXT NOT NULL, body_hash TEXT NOT NULL, "
    "file_hash TEXT NOT NULL, signature TEXT, docstring TEXT, docstring_outdated INTEGER NOT NULL, "
    "imports TEXT, decorators TEXT NOT NULL, bases TEXT NOT NULL, line_start INTEGER NOT NULL, "
    "line_count INTEGER NOT NULL, complexity INTEGER, has_type_hints INTEGER NOT NULL, "
    "partial INTEGER NOT NULL, last_updated TEXT NOT NULL, update_source TEXT NOT NULL)",
    # node keys, and names outside the project
    "CREATE TABLE link_ends (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)",
    # precomputed links of all nodes; `lines` is JSON
    "CREATE TABLE dependencies (source INTEGER NOT NULL, target INTEGER NOT NULL, "
    "kind TEXT NOT NULL, tier TEXT NOT NULL, lines TEXT NOT NULL, "
    "PRIMARY KEY (source, target, kind)) WITHOUT ROWID",
    "CREATE INDEX dependencies_by_target ON dependencies (target)",
    # nodes with stored links, and the inputs of these links
    "CREATE TABLE linked (source_key TEXT PRIMARY KEY, reads BLOB NOT NULL) WITHOUT ROWID",
    # hash of the names that lead to a node and decided a link, with its inputs
    "CREATE TABLE carried (key TEXT PRIMARY KEY, names BLOB NOT NULL, reads BLOB NOT NULL) "
    "WITHOUT ROWID",
    # base versions of the files that changed after the base; NULL if the file did not exist
    "CREATE TABLE unlinked (path TEXT PRIMARY KEY, before BLOB) WITHOUT ROWID",
    "CREATE TABLE changes (generation INTEGER NOT NULL, key TEXT NOT NULL, "
    "PRIMARY KEY (generation, key)) WITHOUT ROWID",
)

_COUNTED = ("generation", "logged_from", "paths_since", "lowered_since")


def is_current(connection: sqlite3.Connection) -> bool:
    """Return True if the tables are exactly those of this version.

    Raises sqlite3.Error if the database cannot be read.
    """
    return has_tables(connection, TABLES, VERSION)


def blank(generation: int) -> sqlite3.Connection:
    """Return an in-memory database with empty tables."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(f"PRAGMA page_size={PAGE}")
    make_tables(connection, TABLES, VERSION)
    connection.executemany("INSERT INTO meta VALUES (?, ?)", [(n, generation) for n in _COUNTED])
    return connection


def first_page(generation: int) -> bytes:
    """Return the first page of a blank database that uses a write-ahead log."""
    with_log = 2  # the file format's read and write versions, at bytes 18 and 19
    source = blank(generation)
    try:
        page = bytearray(source.serialize()[:PAGE])
    finally:
        source.close()
    page[18] = page[19] = with_log
    return bytes(page)
