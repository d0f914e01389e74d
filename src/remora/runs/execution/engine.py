"""Execution of jobs: in this process, or in shards that an engine gives to workers elsewhere."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
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
    """Jobs of one repository at one commit, which one worker runs."""

    number: int
    """The place of the shard in the run, from 0."""
    jobs: tuple[Job, ...]


class ShardEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a shard."""

    number: int
    """The number of the shard."""
    error: str = ""
    """Why some of its jobs did not end, or an empty string."""


class Engine(Protocol):
    """Distributes shards to workers. Results are recorded in streams, and never returned.

    A worker may die, and a shard may run more than once, also at the same time; the streams have
    one owner each.
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
    """A run whose start is recorded."""

    run_id: str
    start_hash: str
    """The hash of the line with its `run_start`."""
    commit: str | None
    """The commit of its base, if there is one."""


class RemoteWorkers(msgspec.Struct, frozen=True):
    """Workers elsewhere."""

    engine: Callable[[StartedRun], Engine]
    """Returns the engine for a run."""
    ended: Callable[[str, bool], Iterable[EndedAgent]]
    """Returns the agents of a run, by its ID, that have ended since the last call, or all if True."""


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


async def run_locally(jobs: Sequence[Job], work: Work, concurrency: int) -> None:
    """Call `work` for each job in this process, in order, with at most `concurrency` at a time.

    RemoraError and OSError stop all jobs. Any other exception stops only the job that raised it,
    and the first such exception is re-raised when all other jobs have finished.
    """
    waiting, broken = iter(jobs), list[Exception]()

    async def work_off() -> None:
        for job in waiting:
            try:
                await work(job)
            except (RemoraError, OSError):
                raise
            except Exception as error:  # noqa: BLE001 - the other jobs continue
                broken.append(error)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(jobs))):
                group.create_task(work_off())
    except* (RemoraError, OSError) as failed:
        raise failed.exceptions[0] from None  # the others likely have the same cause
    if broken:
        raise broken[0]
