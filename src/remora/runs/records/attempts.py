"""Attempts and planned jobs of a run, read from the run's stream."""

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from remora.agents.job import Job
from remora.errors import StreamDamaged
from remora.ids import agent_id
from remora.memory.events import Event, JobEnd, JobStart, RunEnd, RunStart
from remora.statuses import INTERRUPTED
from remora.trace.read.reader import decode_part, typed_payload
from remora.trace.trace_folder import TraceFolder

_Planned = TypeVar("_Planned")


class PlannedJob(msgspec.Struct, frozen=True, gc=False):
    """The parts of a planned job by which it is found."""

    operation: str = ""
    node_id: str = ""
    nodes: list[str] | None = None


class _PlanFields(msgspec.Struct):
    operations: list[str] = []
    nodes: int = 0
    skipped: int = 0
    skipped_nodes: int = 0
    findings: int = 0
    rules: str | None = None
    unreadable: list[dict[str, Any]] = []


class _ConfigFields(msgspec.Struct):
    model_name: str | None = None


class _BaseFields(msgspec.Struct):
    commit: str | None = None


class _StartFields(msgspec.Struct):
    """The fields of a run's start that readers use, with their types, because a run may be forged."""

    plan: _PlanFields = msgspec.field(default_factory=_PlanFields)
    config: _ConfigFields = msgspec.field(default_factory=_ConfigFields)
    base: _BaseFields = msgspec.field(default_factory=_BaseFields)


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of a job."""

    job: Job
    status: str | None = None
    """Null until the attempt's `job_end` is recorded."""


class Attempts(msgspec.Struct, frozen=True, kw_only=True):
    """The planned jobs of a run, and their attempts."""

    start: RunStart
    """The data of `run_start`, whose plan has no jobs."""
    jobs: tuple[Job, ...]
    """The planned jobs."""
    begun: tuple[Attempt, ...]
    """The attempts, in the order in which they first started."""
    ended: bool
    """True if the run's stream contains a `run_end`."""

    @property
    def newest(self) -> dict[tuple[str, str], Attempt]:
        """The newest attempt of each job, keyed by operation and node."""
        return {_key(attempt.job): attempt for attempt in self.begun}

    @property
    def unbegun(self) -> list[Job]:
        """The planned jobs that have not begun."""
        known = self.newest
        return [job for job in self.jobs if _key(job) not in known]

    @property
    def unended(self) -> list[Attempt]:
        """Attempts that have not ended, and interrupted attempts that were not replaced."""
        newest = [attempt.job.agent_id for attempt in self.newest.values()]
        return [
            attempt
            for attempt in self.begun
            if attempt.status is None
            or (attempt.status == INTERRUPTED and attempt.job.agent_id in newest)
        ]


def as_attempt(job: Job, attempt: int) -> Job:
    name = agent_id(job.operation, job.run_id, job.node_id, attempt)
    return msgspec.structs.replace(job, attempt=attempt, agent_id=name)


class AttemptNumbers:
    """Assigns a unique number to each new attempt of a job."""

    def __init__(self, folder: TraceFolder, attempts: Attempts) -> None:
        self._folder = folder
        self._highest: dict[tuple[str, str], int] = {}
        for attempt in attempts.begun:
            key = attempt.job.operation, attempt.job.node_id
            self._highest[key] = max(self._highest.get(key, 0), attempt.job.attempt)

    def next_of(self, job: Job) -> Job:
        """Return the job with its next unused attempt number.

        Numbers of streams that the run does not record are skipped. A killed command may have left
        such streams.
        """
        key = job.operation, job.node_id
        while True:
            self._highest[key] = self._highest.get(key, 0) + 1
            following = as_attempt(job, self._highest[key])
            if self._folder.find_agent(following.agent_id) is None:
                return following


def read_attempts(events: Iterable[Event], before: Attempts | None = None) -> Attempts:
    """Return the attempts recorded in a run's events.

    If `before` is given, the events are those that follow. Raises StreamDamaged if there is no
    valid plan, or if a job that was started is not in the plan.
    """
    start = None if before is None else before.start
    jobs = {_key(job): job for job in before.jobs} if before else {}
    begun = {attempt.job.agent_id: attempt for attempt in before.begun} if before else {}
    ended = before is not None and before.ended
    for event in events:
        if event.type == RunStart.type and start is None:
            start, planned = start_and_jobs(event, Job)
            jobs = {_key(job): job for job in planned}
            continue
        data = typed_payload(event)
        if isinstance(data, JobStart):
            job = _job(data, jobs.get((data.operation, data.node_id)), event.run_id)
            known = begun.get(data.agent_id, Attempt(job=job))
            begun[data.agent_id] = msgspec.structs.replace(known, status=None)
        elif isinstance(data, JobEnd) and data.agent_id in begun:
            found = begun[data.agent_id]
            begun[data.agent_id] = msgspec.structs.replace(found, status=data.status)
        elif isinstance(data, RunEnd):
            ended = True
    if start is None:
        raise StreamDamaged("no run_start in the run's stream", hint="run `remora trace verify`")
    return Attempts(
        start=start, jobs=tuple(jobs.values()), begun=tuple(begun.values()), ended=ended
    )


def start_and_jobs(event: Event, kind: type[_Planned]) -> tuple[RunStart | None, list[_Planned]]:
    """Return `run_start` without its jobs, and the jobs as records of the type `kind`.

    A large plan takes several times as much memory if it is decoded without its types. Raises
    StreamDamaged if the plan is not valid.
    """
    fields = decode_part(event, dict[str, msgspec.Raw])
    try:
        plan = msgspec.json.decode(fields.get("plan", b"{}"), type=dict[str, msgspec.Raw])
        msgspec.json.decode(event.data, type=_StartFields)
        jobs = msgspec.json.decode(plan.pop("jobs", b"[]"), type=list[kind])  # type: ignore[valid-type]
    except (ValueError, RecursionError) as error:
        raise StreamDamaged(
            f"run_start has no valid plan: {error}", hint="run `remora trace verify`"
        ) from error
    rest = msgspec.json.encode({**fields, "plan": plan})
    start = typed_payload(msgspec.structs.replace(event, data=msgspec.Raw(rest)))
    return start if isinstance(start, RunStart) else None, jobs


def _job(start: JobStart, planned: Job | None, run_id: str) -> Job:
    if planned is None:
        raise StreamDamaged(
            f"{start.agent_id} was started, but {run_id} has no such job",
            hint="run `remora trace verify`",
        )
    return msgspec.structs.replace(planned, agent_id=start.agent_id, attempt=start.attempt)


def _key(job: Job) -> tuple[str, str]:
    return job.operation, job.node_id
