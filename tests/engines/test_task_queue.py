"""The tables of the queue, in a real database."""

import asyncio
import time
from contextlib import closing

import psycopg
import pytest

pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")

from remora.engines.task_queue import install_queue
from remora.errors import DatabaseError
from remora.trace.postgres.database import Database


@pytest.mark.slow
def test_installing_does_not_wait_without_end_for_another_session(dsn: str) -> None:
    with closing(Database(dsn)) as database:
        database.open()
    with psycopg.connect(dsn) as other:
        other.execute("CREATE TABLE remora.procrastinate_jobs (id int)")
        began = time.monotonic()
        with pytest.raises(DatabaseError, match="lock timeout"):
            asyncio.run(install_queue(dsn, None))
        assert time.monotonic() - began < 30
        other.rollback()
    asyncio.run(install_queue(dsn, None))
