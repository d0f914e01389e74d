"""Resuming an interrupted run without repeating finished jobs."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import msgspec

from remora.agents.definition.agent import Agent, definition_record
from remora.agents.fork import fork_point_at, restart_start
from remora.agents.job import AgentResult, Job
from remora.errors import Conflict, StreamDamaged, UsageError
from remora.memory.events import AgentEnd, AgentStart, Head, RunEnd
from remora.runs.execution.attempt import run_attempt
from remora.runs.execution.base_files import BaseFilesCache, ChangedJob
from remora.runs.execution.engine import StartedRun
from remora.runs.execution.remote_run import RemoteRun
from remora.runs.execution.run import Run
from remora.runs.records.agent_stream import agent_emitter, job_end, start_and_end_of, start_stream
from remora.runs.records.attempts import AttemptNumbers, Attempts, read_attempts
from remora.runs.records.run_record import RunRecord
from remora.runs.records.run_stream import RunStream, open_run
from remora.statuses import INTERRUPTED, SUBMITTED
from remora.threads import run_in_thread
from remora.trace.read.reader import read_events
from remora.trace.redact.redactor import Redactor


def check_definition(start: AgentStart, agent: Agent, redact: Redactor) -> None:
    """Raise UsageError if the agent's definition has changed since the agent began.

    Only keys present in both the recorded and the current definition are compared, because a later
    Remora version may record more keys.
    """
    now = redact.clean(definition_record(agent))
    known = now.keys() & start.definition.keys()
    changed = sorted(key for key in known if now[key] != start.definition[key])
    if changed:
        raise UsageError(
            f"the agent {agent.definition.name} has changed since {start.packet.agent_id} started: "
            f"{', '.join(changed)}",
            hint="restore the agent, or start a new run; a fork uses the current agent",
        )


async def finish_run(run: Run, record: RunRecord, *, only: Collection[str] | None) -> None:
    """Finish a run's open attempts and start its remaining jobs.

    `record` is the run's verified record. If `only` is given, only the agents with these IDs
    continue, using the files that they started from. Raises StreamLocked if another process is
    writing to the run. If an attempt's stream is damaged, the other jobs are finished before
    StreamDamaged is raised.
    """
    prepared = run.prepared
    with open_run(prepared.project, record, run.clock) as stream:
        attempts = stream.record.attempts
        jobs = _open_jobs(attempts, only)
        run.observer.planned(
            prepared.run_id, msgspec.structs.replace(prepared.plan, jobs=tuple(jobs))
        )
        cache = BaseFilesCache(prepared.project, prepared.run_id, attempts.start)
        numbers = AttemptNumbers(prepared.project.trace, attempts)
        finishing = _ResumedJobs(
            run=run, stream=stream, numbers=numbers, cache=cache, rebases=only is None
        )
        try:
            if prepared.workers is None:
                await run.work_off(jobs, finishing.finish_job)
            else:
                commit = attempts.start.base.get("commit")
                started = StartedRun(prepared.run_id, stream.record.events[0].hash, commit)
                await RemoteRun(run, stream, prepared.workers).run_jobs(jobs, started)
            attempts = read_attempts(stream.appended, attempts)
            ends = only is None and not finishing.damaged and _may_end(attempts)
            is_retried = only is not None and not finishing.damaged
            if (ends or is_retried) and run.judge and SUBMITTED in _statuses(attempts):
                await run_in_thread(run.judge, run, stream, await run_in_thread(cache.of, {}))
        finally:
            cache.close()
        if finishing.damaged:
            raise finishing.damaged[0]
        if ends:
            counts = Counter(map(str, _statuses(attempts)))
            stream.append(RunEnd(totals={"jobs": len(attempts.jobs), **counts}))


@dataclass(frozen=True, kw_only=True)
class _ResumedJobs:
    """Jobs of a resumed run."""

    run: Run
    stream: RunStream
    numbers: AttemptNumbers
    cache: BaseFilesCache
    rebases: bool
    """True if an agent restarts on the current file if the user has changed its file.

    Forks never do, because their purpose is to continue from the earlier file.
    """
    damaged: list[StreamDamaged] = field(default_factory=list)
    """The errors of streams, which do not affect other jobs."""

    async def finish_job(self, job: Job) -> None:
        try:
            await self._finish_job(job)
        except StreamDamaged as error:
            self.damaged.append(error)

    async def _finish_job(self, job: Job) -> None:
        start, end = await run_in_thread(
            start_and_end_of, self.run.prepared.project.trace, job.agent_id
        )
        if end is not None:
            await run_in_thread(self._record_end, job, end)
            return
        base_files = await run_in_thread(self.cache.of, start.rebased if start is not None else {})
        moved, failure = None, None
        if self.rebases and (start is None or not start.packet.turn):
            try:
                moved = await run_in_thread(self.cache.moved, job, base_files)
            except Conflict as error:
                failure = error
        if moved is not None:
            job, start = await run_in_thread(self._restart, job, start, moved)
            base_files = await run_in_thread(self.cache.of, moved.rebased)
        await run_attempt(self.run, self.stream, job, base_files, start, failure)

    def _record_end(self, job: Job, end: AgentEnd) -> None:
        self.run.observer.began(job)
        result = msgspec.convert(
            {**msgspec.structs.asdict(end), "head": self._sound_head(job)}, AgentResult
        )
        self.stream.append(job_end(job, result.status, result.head))
        self.run.observer.ended(job, result.shown())

    def _restart(
        self, job: Job, start: AgentStart | None, moved: ChangedJob
    ) -> tuple[Job, AgentStart | None]:
        """Return the attempt to run on the changed file.

        If the attempt has not begun, only its job is updated. Otherwise, a child attempt is
        started, and the end of the old attempt is recorded in the run's stream.
        """
        if start is None:
            return moved.job, None
        path = self.run.prepared.project.trace.existing_agent(job.agent_id)
        self.stream.append(job_end(job, INTERRUPTED, self._sound_head(job)))
        after = self.numbers.next_of(moved.job)
        first = restart_start(fork_point_at(read_events(path), 0), after, moved.rebased)
        start_stream(self.run.prepared.project, after, first, self.run.clock)
        return after, first

    def _sound_head(self, job: Job) -> Head:
        """Sync an attempt's stream to disk and return its head, so that the run can record it."""
        with agent_emitter(self.run.prepared.project, job, self.run.clock) as emitter:
            emitter.sync()
            return emitter.head


def _open_jobs(attempts: Attempts, only: Collection[str] | None) -> list[Job]:
    jobs = [attempt.job for attempt in attempts.unended] + attempts.unbegun
    return [job for job in jobs if only is None or job.agent_id in only]


def _may_end(attempts: Attempts) -> bool:
    return not (attempts.ended or attempts.unbegun or {None, INTERRUPTED} & {*_statuses(attempts)})


def _statuses(attempts: Attempts) -> list[str | None]:
    return [attempt.status for attempt in attempts.newest.values()]
