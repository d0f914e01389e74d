"""Runs the task of an engine in this process."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any

from remora.bootstrap.invocation import Invocation
from remora.errors import RemoraError
from remora.runs.execution.shard_task import ShardTask
from remora.text import count
from remora.worker.project_folder import project_folder
from remora.worker.shard_worker import run_shard

_log = logging.getLogger("remora.worker")


async def run_task(
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


async def run_in_own_loop(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
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
