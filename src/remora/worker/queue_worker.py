"""Worker that takes shards from a queue until it is stopped."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any

import msgspec
from procrastinate import App, BaseRetryStrategy, JobContext, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job

from remora.bootstrap.invocation import Invocation
from remora.config.schema import PostgresConfig
from remora.engines.task_queue import QUEUE, TASK, add_failure, opened_queue, retry_stalled
from remora.errors import RemoraError, UsageError
from remora.runs.execution.shard_task import ShardTask
from remora.text import count
from remora.worker.project_folder import project_folder
from remora.worker.shard_worker import check_code, run_shard

_log = logging.getLogger("remora.worker")
_TRIES = 50
"""Number of workers that may die or be stopped with a shard. A job ends with an error before."""
_FAILURES = 4
"""Number of workers that may fail with a shard. Between them are pauses of 2, 4 and 8 seconds."""
_FORGOTTEN_S = 86400.0
"""Time after which a silent worker is removed. It could take no more shards if it continued later."""


class _ShardFailed(Exception):
    """A worker could not run a shard. `failures` workers could not so far."""

    def __init__(self, failures: int) -> None:
        self.failures = failures


class _Retries(BaseRetryStrategy):
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """Return when another worker may take a shard, or None if it has failed."""
        if not isinstance(exception, _ShardFailed):
            return None if job.attempts >= _TRIES else RetryDecision(retry_in={"seconds": 1})
        if exception.failures >= _FAILURES:
            return None
        return RetryDecision(retry_in={"seconds": 2**exception.failures})


async def work_on_queue(
    database: PostgresConfig,
    environ: Mapping[str, str],
    *,
    concurrency: int | None,
    drains: bool,
) -> None:
    """Run shards until the process is stopped, or with `drains`, until the queue is empty.

    When it is stopped, its jobs are interrupted at the end of an event, their streams released, and
    its shard is given to another worker. Raises UsageError if its code is not the driver's.
    """
    dsn, lease_s = database.dsn or "", database.lease_s
    asyncio.get_running_loop().set_exception_handler(_log_lost_shard)
    refusals: list[UsageError] = []
    async with opened_queue(dsn) as app:

        async def run(context: JobContext, task: dict[str, Any]) -> None:
            shard = msgspec.convert(task, ShardTask)
            try:
                check_code(shard)
            except UsageError as error:  # this worker must not take shards from others
                refusals.append(error)
                working.cancel()
                raise
            work = _run_in_own_loop(lambda: _run_task(shard, dsn, environ, concurrency))
            await _record_failure(context, work)

        app.task(name=TASK, queue=QUEUE, retry=_Retries(), pass_context=True)(run)
        retrying = asyncio.create_task(_retry_stalled_often(app, lease_s))
        working = asyncio.create_task(
            app.run_worker_async(
                queues=[QUEUE],
                concurrency=1,
                wait=not drains,
                shutdown_graceful_timeout=0,
                update_heartbeat_interval=lease_s / 3,
                stalled_worker_timeout=_FORGOTTEN_S,
                listen_notify=False,
                fetch_job_polling_interval=1.0,
                abort_job_polling_interval=1.0,
            )
        )
        try:
            await working
        except asyncio.CancelledError:
            if not refusals:
                working.cancel()
                raise
        finally:
            retrying.cancel()
            await asyncio.wait([retrying, working])
    if refusals:
        raise refusals[0]


async def _record_failure(context: JobContext, work: Coroutine[Any, Any, None]) -> None:
    """Wait for `work`, and record why it failed. Raises _ShardFailed."""
    try:
        await work
    except RemoraError as error:
        assert context.job.id is not None
        reason = f"{socket.gethostname()}: {error.message}"
        raise _ShardFailed(await add_failure(context.app, context.job.id, reason)) from error


def _log_lost_shard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log in a line that the end of a shard could not be recorded. Procrastinate ignores it."""
    if isinstance(context.get("exception"), ConnectorException):
        _log.warning(
            "the end of a shard was not recorded: another worker has it, or the database cannot be reached"
        )
    else:
        loop.default_exception_handler(context)


async def _retry_stalled_often(app: App, lease_s: int) -> None:
    while True:
        await asyncio.sleep(lease_s / 3)
        with suppress(ConnectorException):  # the database is away
            await retry_stalled(app, lease_s)


async def _run_task(
    task: ShardTask, dsn: str, environ: Mapping[str, str], concurrency: int | None
) -> None:
    """Run the jobs of a task that have not ended, in the project's folder or a checkout of it.

    Raises whatever `run_shard` and `project_folder` raise.
    """
    begun, repository = time.monotonic(), PurePath(task.repository.path).name
    shard = f"run {task.run_id}, {repository}, shard {task.number}"
    _log.info("%s: %s", shard, count(len(task.agents), "job"))
    try:
        with project_folder(task, dsn, environ) as root:
            invocation = Invocation(environ=environ, folder=root, root=root)
            await run_shard(task, invocation, concurrency)
    except RemoraError as error:
        _log.error("%s: %s", shard, error.with_hint)
        raise
    _log.info("%s: ended after %.0f s", shard, time.monotonic() - begun)


async def _run_in_own_loop(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run `work()` in another event loop, so that its blocking calls do not stop this one.

    If this task is cancelled, `work` is cancelled, and waited for. Raises whatever `work` raises.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work())

    def run() -> None:
        try:
            loop.run_until_complete(task)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    running = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        with suppress(RuntimeError):  # it has just ended
            loop.call_soon_threadsafe(task.cancel)
        with suppress(asyncio.CancelledError):
            await running
        raise
