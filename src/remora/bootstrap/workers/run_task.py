"""Runs the task of an engine in this process."""

import logging
from collections.abc import Mapping

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.workers.project_folder import project_folder
from remora.bootstrap.workers.shard_worker import run_shard
from remora.errors import RemoraError
from remora.runs.execution.shard_task import ShardTask

_log = logging.getLogger("remora.worker")


async def run_task(
    task: ShardTask, dsn: str, environ: Mapping[str, str], concurrency: int | None
) -> None:
    """Run the jobs of a task that have not ended, in the project's folder or a checkout of it.

    Raises whatever `run_shard` and `project_folder` raise.
    """
    _log.info("run %s, shard %s: %s jobs", task.run_id, task.number, len(task.agents))
    try:
        with project_folder(task, dsn, environ) as root:
            invocation = Invocation(environ=environ, folder=root, root=root)
            await run_shard(task, invocation, concurrency)
    except RemoraError as error:
        _log.error("run %s, shard %s: %s", task.run_id, task.number, error.with_hint)
        raise
