"""Worker in a process of a Ray cluster."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import msgspec

from remora.bootstrap.invocation import Invocation, open_config
from remora.runs.execution.shard_task import ShardTask
from remora.worker.run_task import run_in_own_loop, run_task
from remora.worker.shard_worker import check_code


async def run_shard_until_signal(words: dict[str, Any], concurrency: int) -> int | None:
    """Run a shard with this node's own environment and user's configuration.

    Returns the signal that interrupted it, or None if it ended. Raises whatever `run_task` raises,
    and UsageError if this node's code is not the driver's.
    """
    task = msgspec.convert(words, ShardTask)
    check_code(task)
    environ, nowhere = dict(os.environ), Path("/")
    config = open_config(Invocation(environ=environ, folder=nowhere, root=nowhere), nowhere)
    dsn = config.postgres.dsn or ""
    received: list[int] = []
    loop = asyncio.get_running_loop()
    working = asyncio.create_task(
        run_in_own_loop(lambda: run_task(task, dsn, environ, concurrency))
    )

    def stop(number: int) -> None:
        received.append(number)
        working.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    try:
        await working
    except asyncio.CancelledError:
        if not received:
            raise
        return received[0]
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    return None
