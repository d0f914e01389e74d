"""Forking an agent at any turn."""

from typing import Any

import msgspec

from remora.agents.fork import ForkPoint, UpdateStart, fork_point_at, fork_start
from remora.agents.job import Job
from remora.errors import NotFound
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.agent_stream import job_start, start_stream
from remora.runs.records.attempts import AttemptNumbers, Attempts
from remora.runs.records.run_record import RunRecord
from remora.runs.records.run_stream import open_run
from remora.trace.read.reader import last_event, read_events
from remora.trace.stream.line_builder import Clock, utc_now


class ForkResult(msgspec.Struct, frozen=True, kw_only=True):
    """A fork that was created but has not run yet.

    `job` is the fork's job. `parent` describes the parent attempt, as recorded in `agent_start`.
    """

    job: Job
    parent: dict[str, Any]

    def document(self) -> dict[str, Any]:
        return {
            "agent_id": self.job.agent_id,
            "run_id": self.job.run_id,
            "parent": self.parent,
            "attempt": self.job.attempt,
        }


def run_of_agent(project: ProjectRecords, agent_id: str) -> tuple[str, str]:
    """Return an agent's run ID and operation.

    Raises NotFound if the agent has no stream or its stream is empty, and StreamDamaged if its
    stream is damaged.
    """
    last = last_event(project.trace.existing_agent(agent_id))
    if last is None:
        raise NotFound(
            f"the stream of {agent_id} is empty",
            hint="the agent was killed before it wrote anything",
        )
    return last.run_id, last.operation


def fork(
    project: Project,
    record: RunRecord,
    agent_id: str,
    turn: int,
    as_now: UpdateStart,
    *,
    clock: Clock = utc_now,
) -> ForkResult:
    """Create a new attempt of an agent's job that continues just before the decision in `turn`.

    `record` is the run's verified record. The agent's stream is not changed, and the new attempt is
    not run. Raises NotFound if the turn does not exist or a file's content is missing, StreamLocked
    if the run is still running, and StreamDamaged if a stream is damaged.
    """
    point = fork_point_at(read_events(project.trace.existing_agent(agent_id)), turn)
    with open_run(project, record, clock) as stream:
        attempts = stream.record.attempts
        job = AttemptNumbers(project.trace, attempts).next_of(_job_of(attempts, agent_id))
        _check_contents(project, point)
        start = as_now(job, fork_start(point, job))
        start_stream(project, job, start, clock)
        stream.append(job_start(job))
    return ForkResult(job=job, parent=start.parent or {})


def _job_of(attempts: Attempts, agent_id: str) -> Job:
    for attempt in attempts.begun:
        if attempt.job.agent_id == agent_id:
            return attempt.job
    raise NotFound(f"the run has no agent {agent_id}", hint="run `remora trace verify`")


def _check_contents(project: ProjectRecords, point: ForkPoint) -> None:
    """Raise NotFound if the content of a changed file cannot be restored."""
    for change in point.changes:
        problem = change.after and project.trace.objects.problem(change.after)
        if problem:
            raise NotFound(
                f"the content of {change.path} at this turn {problem}",
                hint="run `remora trace verify`",
            )
