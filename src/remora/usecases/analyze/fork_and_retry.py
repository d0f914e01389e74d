"""Starts forks and retries of recorded agents."""

from dataclasses import dataclass, replace
from pathlib import Path

from remora.agents.fork import with_agent, with_model
from remora.agents.job import Job
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import connect_helpers, connect_model
from remora.bootstrap.project_interpreter import checked_python_for
from remora.memory.events import AgentStart
from remora.models.protocol import Model
from remora.runs.continuation import fork as forks
from remora.runs.continuation import retry as retries
from remora.runs.continuation.fork import ForkResult
from remora.runs.execution.agent_settings import query_settings_for
from remora.runs.project import Project
from remora.runs.records.agent_stream import start_and_end_of
from remora.runs.records.results import RunView
from remora.runs.records.run_record import check_continuable, read_own_record
from remora.usecases.analyze.prepare_run import agents_for
from remora.usecases.analyze.resume_run import (
    Resumable,
    prepare_resume,
    recorded_config,
    recorded_request,
)
from remora.usecases.analyze.run_models import (
    close_models,
    connect_models,
    models_named_by,
)


@dataclass(frozen=True, kw_only=True)
class ForkRequest:
    """The arguments of `trace fork`."""

    agent_id: str
    turn: int
    files: Path | None = None
    """The folder to write the turn's files to, if any."""
    trusted: bool = False
    """True if the user trusts a run of another installation."""


def fork_with_model(
    invocation: Invocation, project: Project, request: ForkRequest, *, configured: bool
) -> ForkResult:
    """Start a fork of an agent with the configured model, or else with the agent's model.

    Raises ModelError, and whatever `fork_agent` raises.
    """
    if not configured:
        return fork_agent(project, request)
    model = connect_model(invocation, project.config)
    try:
        return fork_agent(project, request, model)
    finally:
        close_models([model])


def prepare_fork(
    invocation: Invocation, project: Project, request: ForkRequest, *, configured: bool
) -> tuple[ForkResult, Resumable, dict[str, Model]]:
    """Start a fork as `fork_with_model` does, and return it with its work and connected models.

    Nothing is recorded if a model is not available. Raises ModelError, and whatever `fork_agent`
    raises.
    """
    run_id, operation = forks.run_of_agent(project, request.agent_id)
    start = read_own_record(project, run_id, trusted=request.trusted).attempts.start
    check_continuable(run_id, start)
    agents = agents_for(project, [operation]).values()
    begun = replace(project, config=recorded_config(project.config, start))
    model = connect_model(invocation, project.config) if configured else None
    if model is not None:
        models = {model.name: model} | connect_helpers(invocation, begun.config, model)
    else:
        first, _ = start_and_end_of(project.trace, request.agent_id)
        used = first.model.get("name") if first is not None else None
        name = str(used or start.config.get("model_name"))
        named = models_named_by(agents, [first])
        models = connect_models(invocation, begun, start, [name], named)
    try:
        made = fork_agent(project, request, model)
        record = read_own_record(project, run_id, trusted=request.trusted)
        only = frozenset({made.job.agent_id})
        return made, prepare_resume(invocation, project, record, only=only), models
    except BaseException:
        close_models(models.values())
        raise


def fork_agent(project: Project, request: ForkRequest, model: Model | None = None) -> ForkResult:
    """Start a fork of an agent at a turn.

    The fork uses `model`, or the agent's model if `model` is None. Raises whatever
    `runs.continuation.fork.fork` raises, and UsageError if the run belongs to another installation.
    """
    run_id, operation = forks.run_of_agent(project, request.agent_id)
    record = read_own_record(project, run_id, trusted=request.trusted)
    check_continuable(run_id, record.attempts.start)
    (agent,) = agents_for(project, [operation]).values()
    start = record.attempts.start

    def as_now(_: Job, first: AgentStart) -> AgentStart:
        updated = with_agent(first, agent, project.redact)
        if model is None:
            return updated
        config = recorded_config(project.config, start)
        settings = query_settings_for(config, agent, model, recorded_request(start))
        return with_model(updated, model, settings)

    return forks.fork(project, record, request.agent_id, request.turn, as_now, files=request.files)


def prepare_retry(
    invocation: Invocation,
    project: Project,
    view: RunView,
    node: str,
    *,
    feedback: str | None,
) -> tuple[Resumable, dict[str, Model]]:
    """Create new attempts of a node's jobs, and return them with their connected models.

    `view` is the result of `own_run`. Nothing is recorded if a model is not available. Raises
    ModelError, and whatever `retry_jobs` raises.
    """
    check_continuable(view.run_id, view.start)
    jobs = retries.jobs_to_retry(view, node)
    agents = agents_for(project, sorted({job.operation for job in jobs})).values()
    begun = replace(project, config=recorded_config(project.config, view.start))
    names = [job.model or "" for job in jobs]
    starts = (start_and_end_of(project.trace, job.agent_id)[0] for job in jobs)
    named = models_named_by(agents, starts)
    models = connect_models(invocation, begun, view.start, names, named)
    try:
        return retry_jobs(invocation, project, view, node, feedback=feedback), models
    except BaseException:
        close_models(models.values())
        raise


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

    begun, record = retries.retry(project, view.record, jobs, as_now, feedback=feedback)
    only = frozenset(job.agent_id for job in begun)
    return prepare_resume(invocation, project, record, only=only)
