"""Engines that distribute the shards of a run to workers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from math import ceil
from typing import NamedTuple, Protocol

import msgspec

from remora.agents.job import Job
from remora.errors import RemoraError
from remora.memory.events import Head

SHARD_JOBS = 200
"""Maximum number of jobs in a shard."""
_FEWEST, _SHARDS = 20, 8
"""Jobs in a shard of a small run, and the number of shards that a larger run has at least."""
SHARD_CONCURRENCY = 2
"""Number of concurrent jobs of a shard, if no other number is asked for."""
Work = Callable[[Job], Awaitable[None]]


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs of one repository at one commit, which one worker runs. Shards are numbered from 0."""

    number: int
    jobs: tuple[Job, ...]


class ShardEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a shard. `error` says why some of its jobs did not end, and is empty otherwise."""

    number: int
    error: str = ""


class Engine(Protocol):
    """Distributes shards to workers. Results are recorded in streams, and never returned.

    A worker may die, and a shard may run more than once, also at the same time; the streams have
    one owner each. Every engine must pass `tests/cli/engines/conformance.py`.
    """

    def run(self, shards: Sequence[Shard]) -> AsyncIterator[ShardEnd]:
        """Run all shards, and yield each one's end once.

        If the iterator is closed or cancelled, no further jobs are started.
        """

    async def cancel(self) -> None:
        """Stop all shards. Their jobs can be resumed."""


class EndedAgent(NamedTuple):
    """An agent whose stream has ended, with its status and its stream's head."""

    agent_id: str
    status: str
    head: Head


class StartedRun(NamedTuple):
    """A run whose `run_start` is the line with the hash `start_hash`."""

    run_id: str
    start_hash: str
    commit: str | None


class RemoteWorkers(msgspec.Struct, frozen=True):
    """Workers elsewhere.

    `engine` returns the engine for a run. `ended` returns the agents of a run that have ended since
    the last call, or all of them if its second argument is true.
    """

    engine: Callable[[StartedRun], Engine]
    ended: Callable[[str, bool], Iterable[EndedAgent]]


def make_shards(jobs: Sequence[Job]) -> list[Shard]:
    """Divide jobs into shards, in order."""
    size = shard_size(len(jobs))
    return [
        Shard(number=number, jobs=tuple(jobs[start : start + size]))
        for number, start in enumerate(range(0, len(jobs), size))
    ]


def shard_size(jobs: int) -> int:
    """Return the number of jobs of a shard. A small run also has work for several workers."""
    return min(SHARD_JOBS, max(_FEWEST, ceil(jobs / _SHARDS)))


class LocalEngine:
    """Calls `work` for each job in this process, in order, with at most `concurrency` at a time.

    Jobs do not wait for the end of the shard before theirs.
    """

    def __init__(self, work: Work, concurrency: int) -> None:
        self._work = work
        self._concurrency = concurrency
        self._task: asyncio.Task[None] | None = None

    async def run(self, shards: Sequence[Shard]) -> AsyncIterator[ShardEnd]:
        """Run all jobs.

        RemoraError and OSError stop all jobs. Any other exception stops only the job that raised
        it, and the first such exception is re-raised when all other jobs have finished.
        """
        ended: asyncio.Queue[ShardEnd | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._run_all(shards, ended.put_nowait))
        self._task.add_done_callback(lambda _: ended.put_nowait(None))
        try:
            while (end := await ended.get()) is not None:
                yield end
            await self._task
        finally:
            await self.cancel()

    async def cancel(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run_all(self, shards: Sequence[Shard], ended: Callable[[ShardEnd], None]) -> None:
        left = {shard.number: len(shard.jobs) for shard in shards}
        waiting = ((shard.number, job) for shard in shards for job in shard.jobs)
        broken: list[Exception] = []

        async def worker() -> None:
            for number, job in waiting:
                await self._run_job(job, broken)
                left[number] -= 1
                if not left[number]:
                    ended(ShardEnd(number=number))

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, min(self._concurrency, sum(left.values())))):
                    group.create_task(worker())
        except* (RemoraError, OSError) as failed:
            raise failed.exceptions[0] from None  # the others likely have the same cause
        if broken:
            raise broken[0]

    async def _run_job(self, job: Job, broken: list[Exception]) -> None:
        try:
            await self._work(job)
        except (RemoraError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - the other jobs continue
            broken.append(error)
