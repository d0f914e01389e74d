"""A run that did not come to its end is brought there, without doing again what is done."""

from collections.abc import Collection

import msgspec

from remora.agents.definition.agent import Agent, definition_record
from remora.agents.fork import restart_start
from remora.agents.fork_point import fork_point_at
from remora.agents.job import AgentResult, Job
from remora.agents.threads import run_in_thread
from remora.errors import Conflict, StreamDamaged, UsageError
from remora.memory.events import AgentEnd, AgentStart, Head, RunEnd
from remora.runs.continuation.start_attempts import AttemptNumbers, start_stream
from remora.runs.execution.attempt import run_attempt
from remora.runs.execution.base_files import BaseFilesCache, ChangedJob
from remora.runs.execution.run import Run
from remora.runs.records.agent_stream import agent_emitter, end_of, job_end, start_of
from remora.runs.records.attempts import Attempts, attempts_of
from remora.runs.records.run_stream import RunStream, open_run
from remora.trace.read.reader import INTERRUPTED, read_events
from remora.trace.redact.redactor import Redactor


def check_definition(start: AgentStart, agent: Agent, redact: Redactor) -> None:
    """Raise UsageError where the agent is not any more what it was when it began.

    Only what both versions know is compared: a later one may record more.
    """
    now = redact.clean(definition_record(agent))
    known = now.keys() & start.definition.keys()
    changed = sorted(key for key in known if now[key] != start.definition[key])
    if changed:
        raise UsageError(
            f"the agent {agent.definition.name} changed since {start.packet.agent_id} began: "
            f"{', '.join(changed)}",
            hint="put it back, or begin a new run; a fork takes the agent as it is now",
        )


async def finish_run(run: Run, *, only: Collection[str] | None = None) -> None:
    """Bring a run's unended attempts to their ends and begin the jobs that none began; with
    `only`, these agents alone, on the files that they began with.

    Raises StreamLocked while another process writes the run, and StreamDamaged, once all else is
    done, where an attempt's stream cannot be gone on with.
    """
    with open_run(run.project, run.run_id, run.clock) as stream:
        attempts = attempts_of(run.project.trace, run.run_id)
        jobs = [attempt.job for attempt in attempts.unended] + attempts.unbegun
        if only is not None:
            jobs = [job for job in jobs if job.agent_id in only]
        run.watcher.planned(run.run_id, msgspec.structs.replace(run.plan, jobs=tuple(jobs)))
        grounds = BaseFilesCache(run.project, run.run_id, attempts.start)
        finishing = _ResumedJobs(run, stream, attempts, grounds, rebases=only is None)
        try:
            await run.engine.run(jobs, finishing.carry_on)
        finally:
            grounds.close()
        if finishing.damaged:
            raise finishing.damaged[0]
        if only is None:
            _end(stream, attempts_of(run.project.trace, run.run_id))


class _ResumedJobs:
    """What each job of a resumed run needs. With `rebases`, an agent whose file moved on begins
    again on what it is now; but not a fork, which is about what the file was then."""

    def __init__(
        self,
        run: Run,
        stream: RunStream,
        attempts: Attempts,
        grounds: BaseFilesCache,
        *,
        rebases: bool,
    ) -> None:
        self._run = run
        self._project = run.project
        self._stream = stream
        self._numbers = AttemptNumbers(run.project, attempts)
        self._grounds = grounds
        self._rebases = rebases
        self.damaged: list[StreamDamaged] = []

    async def carry_on(self, job: Job) -> None:
        try:
            await self._carry_on(job)
        except StreamDamaged as error:  # the other jobs are none the worse
            self.damaged.append(error)

    async def _carry_on(self, job: Job) -> None:
        end = await run_in_thread(end_of, self._project.trace, job.agent_id)
        if end is not None:
            await run_in_thread(self._record_end, job, end)
            return
        start = await run_in_thread(start_of, self._project.trace, job.agent_id)
        ground = await run_in_thread(self._grounds.of, start.rebased if start is not None else {})
        moved, gone = None, None
        if self._rebases and (start is None or not start.packet.turn):
            try:
                moved = await run_in_thread(self._grounds.moved, job, ground)
            except Conflict as error:
                gone = error
        if moved is not None:
            job = await run_in_thread(self._begin_anew, job, start, moved)
            ground = await run_in_thread(self._grounds.of, moved.rebased)
        await run_attempt(self._run, self._stream, job, ground, gone)

    def _record_end(self, job: Job, end: AgentEnd) -> None:
        self._run.watcher.began(job)
        result = msgspec.convert(
            {**msgspec.structs.asdict(end), "head": self._sound_head(job)}, AgentResult
        )
        self._stream.append(job_end(job, result.status, result.head))
        self._run.watcher.ended(job, result)

    def _begin_anew(self, job: Job, start: AgentStart | None, moved: ChangedJob) -> Job:
        """The attempt on the file as it is now: this one, if it had not begun, else another, of
        which this is the parent. It is anchored where it was left."""
        if start is None:
            return moved.job
        path = self._project.trace.existing_agent(job.agent_id)
        self._stream.append(job_end(job, INTERRUPTED, self._sound_head(job)))
        after = self._numbers.next_of(moved.job)
        first = restart_start(fork_point_at(read_events(path), 0), after, moved.rebased)
        start_stream(self._project, after, first, self._run.clock)
        return after

    def _sound_head(self, job: Job) -> Head:
        """The head of an attempt's stream, whose lines are safe before the run names it."""
        with agent_emitter(self._project, job, self._run.clock) as emitter:
            emitter.sync()
            return emitter.head


def _end(stream: RunStream, attempts: Attempts) -> None:
    statuses = [attempt.status for attempt in attempts.newest.values()]
    if attempts.ended or attempts.unbegun or {None, INTERRUPTED} & {*statuses}:
        return
    counts: dict[str, int] = {}
    for status in statuses:
        counts[str(status)] = counts.get(str(status), 0) + 1
    stream.append(RunEnd(totals={"jobs": len(attempts.jobs), **counts}))
