"""The tables of the queue, in a real database."""

import asyncio
import time
from contextlib import closing

import psycopg
import pytest

pytest.importorskip("procrastinate", reason="the extra `queue` is not installed")

from procrastinate.exceptions import ConnectorException

from remora.engines.task_queue import install_queue
from remora.errors import DatabaseError
from remora.trace.postgres.database import Database
from remora.worker.queue_worker import _log_lost_shard


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


def test_a_shard_whose_end_cannot_be_recorded_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    """Such as of a worker that was stopped for longer than its lease."""
    with closing(asyncio.new_event_loop()) as loop:
        _log_lost_shard(loop, {"exception": ConnectorException("gone"), "message": "lost"})
    (record,) = caplog.records
    assert "the end of a shard was not recorded" in record.message
    assert record.exc_info is None
