"""Start of new attempts of a node's jobs."""

from dataclasses import replace

from remora.agents.fork import with_agent
from remora.agents.job import Job
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.project_interpreter import checked_python_for
from remora.errors import undo_on_error
from remora.memory.events import AgentStart
from remora.models.protocol import Model
from remora.runs.continuation import retry as retries
from remora.runs.project import Project
from remora.runs.records.agent_stream import start_and_end_of
from remora.runs.records.results import RunView
from remora.runs.records.run_record import check_continuable
from remora.usecases.analyze.prepare_run import agents_for
from remora.usecases.analyze.resume_run import Resumable, prepare_resume, recorded_config
from remora.usecases.analyze.run_models import close_models, connect_models, models_named_by


def start_retry(
    invocation: Invocation, project: Project, view: RunView, node: str, *, feedback: str | None
) -> tuple[Resumable, dict[str, Model]]:
    """Create new attempts of a node's jobs, and return them with their connected models.

    `view` is the result of `own_run`. Nothing is recorded if a model is not available. Raises
    ModelError, and whatever `retry_jobs` raises.
    """
    check_continuable(view.run_id, view.start)
    jobs = retries.jobs_to_retry(view, node)
    agents = agents_for(project, sorted({job.operation for job in jobs})).values()
    as_recorded = replace(project, config=recorded_config(project.config, view.start))
    names = [job.model or "" for job in jobs]
    starts = (start_and_end_of(project.trace, job.agent_id)[0] for job in jobs)
    named = models_named_by(agents, starts)
    models = connect_models(invocation, as_recorded, view.start, names, named)
    with undo_on_error(close_models, models.values()):
        return retry_jobs(invocation, project, view, node, feedback=feedback), models


def retry_jobs(
    invocation: Invocation,
    project: Project,
    view: RunView,
    node: str,
    *,
    feedback: str | None = None,
) -> Resumable:
    """Create new attempts of a node's jobs, and mark the previous attempts as `retried`.

    `view` is the result of `own_run`. Use `run_remaining` to run the new attempts. Raises whatever
    `runs.continuation.retry.retry` raises.
    """
    jobs = retries.jobs_to_retry(view, node)
    operations = sorted({job.operation for job in jobs})
    agents = agents_for(project, operations)
    checked_python_for(invocation, project, agents.values())

    def as_now(job: Job, start: AgentStart) -> AgentStart:
        return with_agent(start, agents[job.operation], project.redact)

    new_jobs, record = retries.retry(project, view.record, jobs, as_now, feedback=feedback)
    only = frozenset(job.agent_id for job in new_jobs)
    return prepare_resume(invocation, project, record, only=only)
