"""Engines that distribute a run's jobs to workers."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from remora.agents.job import Job
from remora.errors import RemoraError

Work = Callable[[Job], Awaitable[None]]


class Engine(Protocol):
    """Distributes jobs to workers. Results are recorded in streams instead of being returned."""

    async def run(self, jobs: Sequence[Job], work: Work) -> None:
        """Call `work` once for each job. After cancellation, no further jobs are started."""


class LocalEngine:
    """Runs jobs in this process, in order, with at most `concurrency` jobs at a time."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency

    async def run(self, jobs: Sequence[Job], work: Work) -> None:
        """Run all jobs.

        RemoraError and OSError stop all jobs. Any other exception stops only the job that raised
        it, and the first such exception is re-raised when all other jobs have finished.
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
