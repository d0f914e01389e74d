"""Databases for the tests of the PostgreSQL store."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from remora.trace.postgres.copied_folder import CopiedTraceFolder
from remora.trace.postgres.database import Database
from remora.trace.postgres.store import PostgresTraceStore
from tests.postgres_server import PostgresServer

Connects = Callable[[], Database]
OpensCopies = Callable[[], CopiedTraceFolder]


@pytest.fixture(scope="session")
def template(postgres: PostgresServer) -> str:
    """The name of a database with tables, which is faster to copy than to create."""
    database = Database(postgres.new_database("template_with_tables"))
    database.open()
    database.close()
    return "template_with_tables"


@pytest.fixture(scope="session")
def shared_dsn(postgres: PostgresServer, template: str) -> str:
    return postgres.new_database("shared", template)


@pytest.fixture
def dsn(shared_dsn: str) -> str:
    """The connection string of a database whose tables are empty. Tests that change tables need a
    database of their own.
    """
    with psycopg.connect(shared_dsn, autocommit=True) as connection:
        for table in ("streams", "events", "contents", "expired"):
            connection.execute(f"DELETE FROM remora.{table}")
    return shared_dsn


@pytest.fixture
def own_dsn(postgres: PostgresServer, template: str) -> str:
    """The connection string of a database with tables, for one test."""
    return postgres.new_database(f"test_{secrets.token_hex(6)}", template)


@pytest.fixture
def empty_dsn(postgres: PostgresServer) -> str:
    """The connection string of a database without tables."""
    return postgres.new_database(f"test_{secrets.token_hex(6)}")


@pytest.fixture
def connects(dsn: str) -> Iterator[Connects]:
    """Opens the same database again, as another process would."""
    with ExitStack() as stack:

        def connect() -> Database:
            database = Database(dsn, patience_s=10)
            database.open()
            stack.callback(database.close)
            return database

        yield connect


@pytest.fixture
def database(connects: Connects) -> Database:
    return connects()


@pytest.fixture
def opens(connects: Connects) -> Callable[[], PostgresTraceStore]:
    """Opens the store of the project `shop`, as another process would."""
    return lambda: PostgresTraceStore(connects(), "shop", lease_s=60)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A user's folder for copies, which does not exist yet."""
    return tmp_path / "cache" / "copies"


@pytest.fixture
def opens_copies(cache: Path, tmp_path: Path, connects: Connects) -> OpensCopies:
    """Opens the copies of the project `shop`, as another process would."""

    def open_copies() -> CopiedTraceFolder:
        found = CopiedTraceFolder(tmp_path, cache, connects(), "shop")
        found.create()
        return found

    return open_copies


@pytest.fixture
def copies(opens_copies: OpensCopies) -> CopiedTraceFolder:
    return opens_copies()
