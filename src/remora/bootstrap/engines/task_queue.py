"""The queue of shards in the project's database, with Procrastinate."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from psycopg import sql

from remora.errors import DatabaseError
from remora.trace.postgres.schema import SCHEMA

_WORKER_RIGHTS = (
    "GRANT SELECT, INSERT, UPDATE, DELETE ON procrastinate_jobs, procrastinate_events, "
    "procrastinate_workers, procrastinate_periodic_defers TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA remora TO {role}",
)
_HINT = "check the database with `remora doctor`, and its rights with `remora database init`"
TASK, QUEUE = "remora.run_shard", "remora"


@asynccontextmanager
async def opened_queue(dsn: str) -> AsyncIterator[App]:
    """Open the queue, and create its tables if they are missing.

    Raises DatabaseError if the database cannot be used.
    """
    # the tables of the queue lie beside those of the streams
    connector = PsycopgConnector(
        conninfo=dsn, min_size=1, max_size=4, configure=_configure, timeout=10
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
        "SELECT to_regclass('procrastinate_jobs') IS NOT NULL AS found"
    )
    if not found["found"]:
        await app.schema_manager.apply_schema_async()


async def install_queue(dsn: str, worker: str | None) -> None:
    """Create the tables of the queue, and let a role take and change tasks.

    Raises DatabaseError if the role of `dsn` may not do so.
    """
    async with opened_queue(dsn) as app:
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
