"""Runs the jobs of a shard in a worker."""

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from remora.agents.job import Job
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import open_project
from remora.bootstrap.project_interpreter import checked_python_for
from remora.errors import RemoraError, StreamDamaged, StreamError, StreamLocked, UsageError
from remora.memory.events import Payload
from remora.runs.execution.attempt import run_attempt
from remora.runs.execution.base_files import BaseFilesCache
from remora.runs.execution.engine import SHARD_CONCURRENCY
from remora.runs.execution.run import NoObserver, PreparedRun, Run
from remora.runs.execution.shard_task import ShardTask, code_digest
from remora.runs.planning.plan import Plan
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.agent_stream import start_and_end_of
from remora.runs.records.attempts import Attempts, read_attempts
from remora.threads import run_in_thread
from remora.trace.postgres.store import PostgresTraceStore
from remora.trace.read.reader import read_events
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.prepare_run import agents_for
from remora.usecases.analyze.resume_run import recorded_config, recorded_request
from remora.usecases.analyze.run_models import connect_models, models_named_by
from remora.usecases.hub.fact_source import fact_source

_log = logging.getLogger("remora.worker")
_LOGGED_AFTER_S = 60.0
_PATIENCE_S = 1800.0
_LOCKED_PAUSE_S = 1.0


def check_code(task: ShardTask) -> None:
    """Raise UsageError if this worker's installation is not the driver's."""
    if task.code != code_digest():
        raise UsageError(
            "this worker has another version of Remora or ruff than the driver",
            hint="install the same version on all machines",
        )


async def run_shard(task: ShardTask, invocation: Invocation, concurrency: int | None) -> None:
    """Run the jobs of a shard that have not ended, in the project that `invocation` opens.

    Raises UsageError if this worker's project or database is not the driver's, and whatever
    stops a run at home.
    """
    project = open_project(invocation)
    store = project.open_store()
    if not isinstance(store, PostgresTraceStore) or store.project != task.project:
        raise UsageError(
            f"this worker's streams of {project.root} are not those of the driver",
            hint="use trace_store: postgres and the same database on all machines",
        )
    shard = _read_shard(project, task)
    project = replace(project, config=recorded_config(project.config, shard.attempts.start))
    await _run_jobs(shard, invocation, project, store, concurrency)


class _Shard(NamedTuple):
    task: ShardTask
    jobs: Sequence[Job]
    attempts: Attempts


def _read_shard(project: ProjectRecords, task: ShardTask) -> _Shard:
    """Return the shard's jobs, and the run's plan."""
    path = project.trace.existing_run(task.run_id)
    attempts = _read_plan(path, task.start_hash)
    wanted = frozenset(task.agents)
    jobs = [job for job in attempts.jobs if job.agent_id in wanted]
    if len(jobs) < len(wanted):  # some are further attempts, which are not planned
        begun = read_attempts(read_events(path)).begun
        known = {job.agent_id for job in jobs}
        jobs += [attempt.job for attempt in begun if attempt.job.agent_id in wanted - known]
    return _Shard(task, jobs, attempts)


@lru_cache(maxsize=1)  # a worker runs many shards of a run, and reading a large plan takes long
def _read_plan(path: Path, start_hash: str) -> Attempts:
    """Return the plan of the run that begins with the line that has this hash."""
    first = next(read_events(path), None)
    if first is None or first.hash != start_hash:
        raise UsageError(f"{path.stem} in this worker's database is another one")
    return read_attempts([first])


async def _run_jobs(
    shard: _Shard,
    invocation: Invocation,
    project: Project,
    store: PostgresTraceStore,
    concurrency: int | None,
) -> None:
    start = shard.attempts.start
    by_operation = agents_for(project, sorted({job.operation for job in shard.jobs}))
    agents = by_operation.values()
    python = checked_python_for(invocation, project, agents)
    request = recorded_request(start, concurrency or SHARD_CONCURRENCY)
    prepared = PreparedRun(
        run_id=shard.task.run_id,
        project=project,
        request=request,
        plan=Plan(jobs=shard.attempts.jobs),
        agents=by_operation,
        source=fact_source(invocation, project),
        base=None,
        ruff=None,
        python=python,
    )
    of_run = start.config.get("model_name")
    names = sorted({name for agent in agents if (name := agent.definition.model or of_run)})
    models = connect_models(invocation, project, start, names, models_named_by(agents))
    try:
        async with prepared.source.opened() as facts:
            run = Run(
            prepared=prepared,
                models=models, settings=start.config, facts=facts, observer=NoObserver(),
                clock=utc_now,
            )  # fmt: skip
            await _ShardJobs(run, shard, store).run()
    finally:
        for model in models.values():
            await model.aclose()


class _ShardJobs:
    """The jobs of a shard in this process.

    Jobs with which a worker has died before are run alone and last, so that they cannot end the
    worker of others again.
    """

    def __init__(self, run: Run, shard: _Shard, store: PostgresTraceStore) -> None:
        self._run = run
        self._jobs = shard.jobs
        self._failures: list[StreamError] = []
        self._store = store
        worker = f"{shard.task.number}-{os.getpid()}-{secrets.token_hex(3)}"
        self._cache = BaseFilesCache(
            run.prepared.project, run.prepared.run_id, shard.attempts.start, worker=worker
        )

    async def run(self) -> None:
        try:
            names = (job.agent_id for job in self._jobs)
            rows = [*self._store.states_of(names)]
            ended = {row.agent_id for row in rows if row.status is not None}
            unended = [job for job in self._jobs if job.agent_id not in ended]
            await run_in_thread(self._lint_all, unended)
            unlucky = {row.agent_id for row in rows if row.is_claimed or row.deaths > 0}
            suspects = [job for job in unended if job.agent_id in unlucky]
            await self._run.work_off([job for job in unended if job not in suspects], self._work)
            for job in suspects:
                await self._work(job)
        finally:
            self._cache.close()
        if self._failures:
            raise self._failures[0]

    def _lint_all(self, jobs: Sequence[Job]) -> None:
        """Run ruff once on the files of all jobs. For each of them, its start would take longest."""
        paths = sorted({job.path for job in jobs})
        with suppress(RemoraError):  # each job that needs the findings will say so
            files = self._cache.of({})
            there = [path for path in paths if files.place.files.exists(path)]
            files.place.ruff.check(there, unsafe=True)

    async def _work(self, job: Job) -> None:
        """Run a job, after waiting for another worker that has claimed it."""
        wait = OwnerWait(lambda: self._store.head(f"traces/{job.agent_id}").count)
        while True:
            start, end = await run_in_thread(
                start_and_end_of, self._run.prepared.project.trace, job.agent_id
            )
            if end is not None:
                return
            rebased = {} if start is None else start.rebased
            base_files = await run_in_thread(self._cache.of, rebased)
            try:
                await run_attempt(self._run, _NoRunLog(), job, base_files, start)
            except StreamLocked as error:
                if await run_in_thread(wait.is_over, error):
                    self._failures.append(error)
                    return
                await asyncio.sleep(_LOCKED_PAUSE_S)
            except StreamDamaged as error:  # the other jobs are not affected
                self._failures.append(error)
                return
            else:
                return


class _NoRunLog:
    """The driver records the starts and ends of jobs."""

    def append(self, payload: Payload) -> None:
        """Do nothing."""


class OwnerWait:
    """A wait that is over if the owner of a stream appends nothing for half an hour.

    The owner may be in a long step, for which its process renews the lease. It may also be a thread
    that hangs. A wait without events is logged once.
    """

    def __init__(
        self, count_events: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._count_events = count_events
        self._clock = clock
        self._count = -1
        self._since = 0.0
        self._is_logged = False

    def is_over(self, error: StreamLocked) -> bool:
        """Look at the stream that cannot be claimed because of `error`."""
        count, now = self._count_events(), self._clock()
        if count != self._count:
            self._count, self._since = count, now
        seconds = now - self._since
        if seconds > _LOGGED_AFTER_S and not self._is_logged:
            self._is_logged = True
            _log.warning("waiting since %d s: %s", seconds, error.message)
        return seconds > _PATIENCE_S
