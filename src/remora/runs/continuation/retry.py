"""Retrying a job with feedback. A retry is a fork at turn 0 that uses the current files."""

from collections.abc import Sequence
from contextlib import closing

from remora.agents.fork import UpdateStart, fork_point_at, fork_start, restart_start
from remora.agents.job import Job
from remora.errors import StreamDamaged, UsageError
from remora.ids import display_name
from remora.memory.events import AgentStart
from remora.runs.execution.base_files import BaseFilesCache
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.agent_stream import job_start, start_stream
from remora.runs.records.attempts import AttemptNumbers
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView, jobs_named
from remora.runs.records.review_verdict import checked_feedback, review_event
from remora.runs.records.run_record import RunRecord
from remora.runs.records.run_stream import open_run
from remora.statuses import INTERRUPTED, RETRIED, RUNNING, UNDECIDED
from remora.trace.read.reader import read_events


def jobs_to_retry(view: RunView, node: str) -> list[JobView]:
    """Return the current attempts of the jobs on `node`, which is a node name or a glob.

    Raises UsageError if a job has not ended or a part of it is accepted, NotFound (listing the
    closest names) if no node matches, and StreamDamaged if an attempt's stream is damaged.
    """
    jobs = jobs_named(view, node)
    for job in jobs:
        if job.review.written is not None and job.review.state in UNDECIDED:
            name = display_name(job.node_id)
            raise UsageError(
                f"a part of the change of {name} is accepted, which a new attempt would forget",
                hint=f"accept or reject the rest, or run `remora revert {view.run_id} {name}` first",
            )
        if job.stream.damaged:
            raise StreamDamaged(str(job.outcome.error))
        if job.status in (INTERRUPTED, RUNNING) or not job.stream.head.count:
            ends = f"finish it first with `remora analyze --resume {view.run_id}`"
            raise UsageError(
                f"{job.operation} {job.node_id.removeprefix('node:')} is {job.status}",
                hint="wait until the run ends" if job.status == RUNNING else ends,
            )
    return jobs


def retry(
    project: Project,
    record: RunRecord,
    jobs: Sequence[JobView],
    as_now: UpdateStart,
    *,
    feedback: str | None,
) -> tuple[list[Job], RunRecord]:
    """Record the verdict `retried` on each job and create its next attempt without running it.

    Returns the new attempts and the run's verified record, including the events that this call
    appends. `feedback` is pinned in the packet. Without it, the feedback of the last verdict on the
    job is pinned, such as the reason of a rejection. Raises Conflict if a node no longer exists,
    StreamLocked if the run is still running, and UsageError if the feedback is too long.
    """
    pinned = checked_feedback(feedback, project.redact)
    with open_run(project, record) as stream:
        attempts = stream.record.attempts
        numbers = AttemptNumbers(project.trace, attempts)
        known = {attempt.job.agent_id: attempt for attempt in attempts.begun}
        with closing(BaseFilesCache(project, record.run_id, attempts.start)) as cache:
            starts = [
                _start(
                    project, known[job.agent_id].job, numbers, cache, pinned or job.review.feedback
                )
                for job in jobs
            ]
        for job, (after, start) in zip(jobs, starts, strict=True):
            start_stream(project, after, as_now(after, start))
            # if killed here, a resume completes the attempt
            stream.append(job_start(after))
            stream.append(
                review_event(project, job, RETRIED, feedback=pinned or job.review.feedback)
            )
        return [after for after, _ in starts], stream.record


def _start(
    project: ProjectRecords,
    job: Job,
    numbers: AttemptNumbers,
    cache: BaseFilesCache,
    feedback: str | None,
) -> tuple[Job, AgentStart]:
    """Return the next attempt and its start event.

    If the user has changed the file, the attempt restarts on the current file. Forks always
    continue from their fork point.
    """
    point = fork_point_at(read_events(project.trace.existing_agent(job.agent_id)), 0)
    base_files = cache.of(point.start.rebased)
    moved = None if point.start.packet.turn else cache.moved(job, base_files)
    if moved is None:
        after = numbers.next_of(job)
        return after, fork_start(point, after, feedback=feedback)
    after = numbers.next_of(moved.job)
    return after, restart_start(point, after, moved.rebased, feedback=feedback)
