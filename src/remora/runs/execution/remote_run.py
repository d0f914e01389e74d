"""The driver of a run whose jobs are run by workers elsewhere.

The driver owns the run's stream, and keeps no other state: which jobs have ended is read from the
store.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from remora.agents.job import AgentResult, Counts, Job
from remora.errors import OutsideError
from remora.runs.execution.engine import EndedAgent, Engine, RemoteWorkers, StartedRun, make_shards
from remora.runs.execution.run import Run
from remora.runs.records.agent_stream import job_end, job_start
from remora.runs.records.run_stream import RunStream
from remora.text import count
from remora.threads import run_in_thread
from remora.trace.read.reader import read_events, typed_payload

_POLL_S = 0.5
"""Seconds between two looks for ended jobs (decision: jobs take longer)."""
_BATCH = 1000
"""Number of events that are appended at a time, and are in memory several times."""
_LAST_REPORTS_S = 10.0
"""Time for which an engine may report the ends of shards after the end of all jobs."""


class RemoteRun:
    """Hands out the jobs of a run, and records their ends in the run's stream."""

    def __init__(self, run: Run, stream: RunStream, workers: RemoteWorkers) -> None:
        self._run = run
        self._stream = stream
        self._workers = workers
        self._open: dict[str, Job] = {}
        self.totals: dict[str, int] = {}

    async def run_jobs(self, jobs: Sequence[Job], started: StartedRun) -> None:
        """Run jobs until all have ended. Raises OutsideError if some cannot be run."""
        await run_in_thread(self._record_starts, jobs)
        engine, problems = self._workers.engine(started), list[str]()

        async def watch() -> None:
            async for end in engine.run(make_shards(jobs)):
                problems.extend([end.error] if end.error else [])

        watching = asyncio.create_task(watch())
        tasks = [watching, asyncio.create_task(self._record_ends())]
        try:  # recording may end with an error, for example if another driver took over
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if watching not in done:
                await _wait_for_reports(watching, engine)
        except BaseException:
            await _cancel(tasks)
            await engine.cancel()
            raise
        await _cancel(tasks)
        await run_in_thread(self._record_new_ends, True)
        if self._open:
            why = f": {problems[0]}" if problems else ""
            raise OutsideError(
                f"{count(len(self._open), 'job')} did not end{why}",
                hint=f"`remora analyze --resume {self._run.prepared.run_id}` runs them again",
            )

    def _record_starts(self, jobs: Sequence[Job]) -> None:
        for start in range(0, len(jobs), _BATCH):
            self._stream.append_all([job_start(job) for job in jobs[start : start + _BATCH]])
        self._open = {job.agent_id: job for job in jobs}

    async def _record_ends(self) -> None:
        """Record the ends of jobs until all have ended."""
        while self._open:
            await asyncio.sleep(_POLL_S)
            await run_in_thread(self._record_new_ends)

    def _record_new_ends(self, everything: bool = False) -> None:
        ended_now = self._workers.ended(self._run.prepared.run_id, everything)
        found = [end for end in ended_now if end.agent_id in self._open]
        for start in range(0, len(found), _BATCH):
            self._record_batch(found[start : start + _BATCH])

    def _record_batch(self, found: Sequence[EndedAgent]) -> None:
        ended = [(self._open.pop(end.agent_id), end) for end in found]
        self._stream.append_all([job_end(job, end.status, end.head) for job, end in ended])
        for job, end in ended:
            self.totals[end.status] = self.totals.get(end.status, 0) + 1
            self._run.observer.began(job)
            self._run.observer.ended(job, self._observe(job, end).shown())

    def _observe(self, job: Job, end: EndedAgent) -> AgentResult:
        """Pass the events of a job to the observer, and return its result."""
        last = None
        for last in read_events(self._run.prepared.project.trace.existing_agent(job.agent_id)):
            self._run.observer.event(job, last)
        recorded = None if last is None else typed_payload(last)
        fields = {} if recorded is None else msgspec.structs.asdict(recorded)
        fields |= {
            "status": end.status,
            "head": end.head,
            "counts": Counts(turns=0 if last is None else last.turn),
        }
        return msgspec.convert(fields, AgentResult)


async def _wait_for_reports(watching: "asyncio.Task[None]", engine: Engine) -> None:
    """Wait for an engine whose jobs have all ended, but not for reports that were lost."""
    try:
        await asyncio.wait_for(watching, _LAST_REPORTS_S)
    except TimeoutError:
        await engine.cancel()


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
