"""Runs the task of an engine in this process."""

import logging
import time
from collections.abc import Mapping
from pathlib import PurePath

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
