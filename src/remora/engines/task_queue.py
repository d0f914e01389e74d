"""The queue of shards in the project's database, with Procrastinate."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from remora.errors import DatabaseError
from remora.trace.postgres.schema import SCHEMA

_WORKER_RIGHTS = (
    "GRANT SELECT, INSERT, UPDATE, DELETE ON procrastinate_jobs, procrastinate_events, "
    "procrastinate_workers, procrastinate_periodic_defers TO {role}",
    "GRANT SELECT, INSERT ON shard_failures TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA remora TO {role}",
)
_FAILURES = """
CREATE TABLE shard_failures (
    job_id bigint NOT NULL REFERENCES procrastinate_jobs ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    reason text NOT NULL
)
"""
_ADD_FAILURE = """
WITH added AS (INSERT INTO shard_failures (job_id, reason) VALUES (%(job_id)s, %(reason)s))
SELECT count(*) + 1 AS failures FROM shard_failures WHERE job_id = %(job_id)s
"""
_FAILED = "SELECT reason FROM shard_failures WHERE job_id = %(job_id)s ORDER BY at DESC"
_HINT = "check the database with `remora doctor`, and its rights with `remora database init`"
TASK, QUEUE = "remora.run_shard", "remora"
_PATIENCE_S = 60.0
"""Seconds to wait for a connection (decision: a restart of the database takes less)."""


@asynccontextmanager
async def opened_queue(dsn: str) -> AsyncIterator[App]:
    """Open the queue, and create its tables if they are missing.

    Raises DatabaseError if the database cannot be used.
    """
    # connections wait for a server that is away, as those for streams do
    connector = PsycopgConnector(
        conninfo=dsn, min_size=1, max_size=4, configure=_configure, timeout=_PATIENCE_S
    )
    app = App(connector=connector)
    try:
        async with app.open_async():
            await create_tables(app)
            yield app
    except (psycopg.Error, ConnectorException) as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise DatabaseError(f"the queue cannot be used: {reason}", hint=_HINT) from error


async def retry_stalled(app: App, lease_s: int) -> None:
    """Give the shards of workers that gave no sign of life for `lease_s` to others."""
    stalled = await app.job_manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=lease_s)
    for job in stalled:
        with suppress(ConnectorException):  # another process was faster
            await app.job_manager.retry_job(job)


async def create_tables(app: App) -> None:
    """Create the tables of the queue if they are missing."""
    found = await app.connector.execute_query_one_async(
        "SELECT to_regclass('procrastinate_jobs') IS NOT NULL AS jobs, "
        "to_regclass('shard_failures') IS NOT NULL AS failures"
    )
    if not found["jobs"]:
        await app.schema_manager.apply_schema_async()
    if not found["failures"]:
        await app.connector.execute_query_async(_FAILURES)


async def add_failure(app: App, job_id: int, reason: str) -> int:
    """Record why a worker failed with a shard, and return how many have."""
    row = await app.connector.execute_query_one_async(_ADD_FAILURE, job_id=job_id, reason=reason)
    return int(row["failures"])


async def describe_failures(app: App, job_id: int) -> str:
    """Return how many workers failed with a shard, and the last reason."""
    rows = await app.connector.execute_query_all_async(_FAILED, job_id=job_id)
    return f"failed {len(rows)} times, at last on {rows[0]['reason']}" if rows else "failed"


async def install_queue(dsn: str, worker: str | None) -> None:
    """Create the tables of the queue, and let a role take and change tasks.

    Raises DatabaseError if the role of `dsn` may not do so, or if another session locks them for ten
    seconds.
    """
    options = conninfo_to_dict(dsn).get("options") or ""
    limited = make_conninfo(dsn, options=f"{options} -c lock_timeout=10s".strip())
    async with opened_queue(limited) as app:
        if worker is not None:
            connector = app.connector
            assert isinstance(connector, PsycopgConnector)
            async with connector.pool.connection() as connection:
                for statement in _WORKER_RIGHTS:
                    role = sql.Identifier(worker)
                    await connection.execute(sql.SQL(statement).format(role=role))


async def _configure(connection: "psycopg.AsyncConnection[Any]") -> None:
    await connection.set_autocommit(True)
    await connection.execute(f"SET search_path TO {SCHEMA}, public")
