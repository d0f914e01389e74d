"""Measures how long the jobs of runs take, for the estimates of later plans."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean, median

from remora.agents.job import AgentResult, Job
from remora.errors import RemoraError
from remora.memory.events import Event
from remora.runs.execution.engine import RemoteWorkers
from remora.runs.execution.job_times import JobTimes, job_times
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.execution.run import RunObserver
from remora.runs.planning.measured_rates import Rate, RateUse, keep_rates, server_text
from remora.runs.planning.plan import Plan
from remora.runs.project import Project, ProjectRecords
from remora.trace.read.reader import read_events
from remora.usecases.analyze.remote_workers import LOCAL

_SAMPLE = 100
"""Number of jobs of each operation whose streams are read."""


class RateMeter:
    """Measures the jobs that this process runs or hands out, in one or more projects."""

    def __init__(self) -> None:
        self._workers: RemoteWorkers | None = None
        self._began: float | None = None
        self._ended = 0.0
        self._jobs: dict[str, list[tuple[Project, Job]]] = {}
        self._continued: set[str] = set()

    def watch(
        self, run: PreparedRun, observer: RunObserver, continued: Collection[str] = ()
    ) -> RunObserver:
        """Return an observer for a run, which passes everything to `observer`.

        `continued` has the agents that began in another process, so that their times are unknown.
        """
        self._workers = run.workers
        self._continued |= set(continued)
        return _MeteredObserver(self, run.project, observer)

    def begin(self) -> None:
        """Note that jobs are about to begin."""
        self._began = self._began or time.monotonic()

    def end(self, project: Project, job: Job) -> None:
        """Note the end of a job."""
        self._ended = time.monotonic()
        self._jobs.setdefault(job.operation, []).append((project, job))

    def keep(self) -> None:
        """Keep what was measured in the user's state folder, if that is possible."""
        with suppress(RemoraError, OSError):
            times = {name: list(self._times(jobs)) for name, jobs in self._jobs.items()}
            rates = list(self._rates({name: found for name, found in times.items() if found}))
            if rates:
                keep_rates(_state(self._any_project), rates)

    @property
    def _any_project(self) -> Project:
        return next(project for jobs in self._jobs.values() for project, _ in jobs)

    def _times(self, jobs: Sequence[tuple[Project, Job]]) -> Iterator[JobTimes]:
        """Yield the times of up to `_SAMPLE` jobs."""
        whole = [(project, job) for project, job in jobs if job.agent_id not in self._continued]
        for project, job in whole[:: len(whole) // _SAMPLE + 1]:
            with suppress(RemoraError):
                found = job_times(read_events(project.trace.existing_agent(job.agent_id)))
                if found is not None:
                    yield found

    def _rates(self, times: dict[str, list[JobTimes]]) -> Iterator[Rate]:
        busy = sum(
            fmean(each.seconds for each in found) * len(self._jobs[name])
            for name, found in times.items()
        )
        elapsed = self._ended - (self._began or self._ended)
        at_once = busy / elapsed if elapsed > 0 else 0.0
        for name, found in times.items():
            if at_once:
                yield self._rate(name, found, at_once)

    def _rate(self, name: str, times: Sequence[JobTimes], at_once: float) -> Rate:
        workers = self._workers
        project, job = self._jobs[name][0]
        asks_server = times[0].provider == "openai"
        server = server_text(project.config.model.base_url) if asks_server else ""
        rules = [each.seconds - each.model_seconds for each in times]
        shared = 0.0
        if any(each.name == name and each.shared_seconds for each in project.operations.all):
            shared = max(0.0, sum(rules) - median(rules) * len(rules))
        projects = len({project.root for project, _ in self._jobs[name]})
        return Rate(
            use=RateUse(name, server, times[0].model, workers.name if workers else LOCAL),
            run_id=job.run_id,
            jobs=len(times),
            decisions=sum(each.decisions for each in times),
            prompt_tokens=sum(each.prompt_tokens for each in times),
            answer_tokens=sum(each.answer_tokens for each in times),
            model_seconds=round(sum(each.model_seconds for each in times), 3),
            rules_seconds=round(sum(rules) - shared, 3),
            shared_seconds=round(shared / projects, 3),
            at_once=round(at_once, 3),
            workers=workers.count() if workers else 1,
        )


def _state(project: ProjectRecords) -> Path:
    """Return the user's state folder."""
    return project.state.parents[1]


class _MeteredObserver:
    def __init__(self, meter: RateMeter, project: Project, observer: RunObserver) -> None:
        self._meter = meter
        self._project = project
        self._observer = observer

    def planned(self, run_id: str, plan: Plan) -> None:
        self._meter.begin()
        self._observer.planned(run_id, plan)

    def began(self, job: Job) -> None:
        self._observer.began(job)

    def event(self, job: Job, event: Event) -> None:
        self._observer.event(job, event)

    def ended(self, job: Job, result: AgentResult) -> None:
        self._meter.end(self._project, job)
        self._observer.ended(job, result)
