"""Databases for the tests of the PostgreSQL store."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from remora.trace.postgres.database import Database
from remora.trace.postgres.store import PostgresTraceStore

Connects = Callable[[], Database]


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
