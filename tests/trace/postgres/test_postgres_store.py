"""PostgreSQL store: the conformance suite, ownership, and lost connections."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial

import psycopg
import pytest

from remora.errors import SeqConflict, StreamLocked, WriterReplaced
from remora.trace.postgres.database import Database
from remora.trace.postgres.store import PostgresTraceStore
from remora.trace.trace_folder import TraceFolder
from tests.trace.stream.store.conformance import STREAM, Opens, StoreConformance, chained, stored


@pytest.fixture
def database(dsn: str) -> Iterator[Database]:
    found = Database(dsn, patience_s=5)
    found.open()
    yield found
    found.close()


class TestPostgresTraceStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def _database(self, database: Database) -> None:
        self.database = database

    def storage(self, folder: TraceFolder) -> Opens:
        return partial(PostgresTraceStore, self.database, "shop")
