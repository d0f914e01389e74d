"""Engines that distribute the jobs of a run to workers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from remora.agents.job import Job
from remora.errors import RemoraError

Work = Callable[[Job], Awaitable[None]]


class Engine(Protocol):
    """Distributes jobs to workers. Returns nothing, because results are recorded in streams."""

    async def run(self, jobs: Sequence[Job], work: Work) -> None:
        """Call `work` once for each job. After cancellation, no further jobs are started."""


class LocalEngine:
    """Runs jobs in this process, at most `concurrency` at a time, in order."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency

    async def run(self, jobs: Sequence[Job], work: Work) -> None:
        """Run all jobs.

        RemoraError and OSError stop all jobs. Any other exception stops only its job and is
        raised when the others are done.
        """
        waiting = iter(jobs)
        broken: list[Exception] = []

        async def worker() -> None:
            for job in waiting:
                try:
                    await work(job)
                except (RemoraError, OSError):
                    raise
                except Exception as error:  # noqa: BLE001 - the other jobs continue
                    broken.append(error)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, min(self._concurrency, len(jobs)))):
                    group.create_task(worker())
        except* (RemoraError, OSError) as failed:
            raise failed.exceptions[0] from None  # the others likely have the same cause
        if broken:
            raise broken[0]
