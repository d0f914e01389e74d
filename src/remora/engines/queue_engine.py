"""Engine that puts shards into a queue, from which `remora worker` takes them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec
from procrastinate import App
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status

from remora.engines.task_queue import QUEUE, TASK, describe_failures, opened_queue, retry_stalled
from remora.runs.execution.engine import Shard, ShardEnd
from remora.runs.execution.shard_task import ShardTask

_POLL_S = 0.5
"""Seconds between two looks at the queue (decision: jobs take longer)."""
_PATIENCE_S = 60.0
"""Seconds to wait for a database that is away (decision: a restart takes less)."""
_ENDED = """
SELECT id, status::text FROM procrastinate_jobs
WHERE id = ANY (%(ids)s) AND status IN ('succeeded', 'failed', 'cancelled', 'aborted')
"""


class QueueEngine:
    """Runs shards on all workers of a database.

    The queue holds only short tasks. A worker that gives no sign of life for `lease_s` loses its
    shard to another one.
    """

    def __init__(self, dsn: str, lease_s: int, make_task: Callable[[Shard], ShardTask]) -> None:
        self._dsn = dsn
        self._lease_s = lease_s
        self._make_task = make_task
        self._waiting: dict[int, Shard] = {}

    async def run(self, shards: Sequence[Shard]) -> AsyncIterator[ShardEnd]:
        async with opened_queue(self._dsn) as app:
            for shard in shards:
                number = await app.configure_task(TASK, queue=QUEUE).defer_async(
                    task=msgspec.to_builtins(self._make_task(shard))
                )
                self._waiting[number] = shard
            while self._waiting:
                await asyncio.sleep(_POLL_S)
                for end in await self._find_ended(app):
                    yield end

    async def cancel(self) -> None:
        """Remove the shards that wait, and ask workers to stop those that run."""
        async with opened_queue(self._dsn) as app:
            for number in list(self._waiting):
                await app.job_manager.cancel_job_by_id_async(number, abort=True)
                del self._waiting[number]

    async def _find_ended(self, app: App) -> list[ShardEnd]:
        """Return the shards that have ended, after waiting for a database that is away."""
        end = time.monotonic() + _PATIENCE_S
        while True:
            try:
                await retry_stalled(app, self._lease_s)
                return await self._take_ended(app)
            except ConnectorException:
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(_POLL_S)

    async def _take_ended(self, app: App) -> list[ShardEnd]:
        found = []
        for row in await app.connector.execute_query_all_async(_ENDED, ids=list(self._waiting)):
            shard, status = self._waiting.pop(row["id"]), row["status"]
            why = status
            if status == Status.FAILED.value:
                why = await describe_failures(app, row["id"])
            error = "" if status == Status.SUCCEEDED.value else f"shard {shard.number} {why}"
            found.append(ShardEnd(number=shard.number, error=error))
        return found
