"""Start of a fork of a recorded agent."""

from dataclasses import dataclass, replace

from remora.agents.definition.agent import Agent
from remora.agents.fork import with_agent, with_model
from remora.agents.job import Job
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import connect_helpers, connect_model
from remora.errors import undo_on_error
from remora.memory.events import AgentStart
from remora.models.protocol import Model
from remora.runs.continuation import fork as forks
from remora.runs.continuation.fork import ForkResult
from remora.runs.execution.agent_settings import query_settings_for
from remora.runs.project import Project
from remora.runs.records.agent_stream import start_and_end_of
from remora.runs.records.run_record import RunRecord, check_continuable, read_own_record
from remora.usecases.analyze.prepare_run import agents_for
from remora.usecases.analyze.resume_run import (
    Resumable,
    prepare_resume,
    recorded_config,
    recorded_request,
)
from remora.usecases.analyze.run_models import close_models, connect_models, models_named_by


@dataclass(frozen=True, kw_only=True)
class ForkRequest:
    """The arguments of `trace fork`."""

    agent_id: str
    turn: int
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


def start_continued_fork(
    invocation: Invocation, project: Project, request: ForkRequest, *, configured: bool
) -> tuple[ForkResult, Resumable, dict[str, Model]]:
    """Start a fork as `fork_with_model` does, and return it with its work and connected models.

    Nothing is recorded if a model is not available. Raises ModelError, and whatever `fork_agent`
    raises.
    """
    record, agent = _recorded_run(project, request)
    start = record.attempts.start
    as_recorded = replace(project, config=recorded_config(project.config, start))
    model = connect_model(invocation, project.config) if configured else None
    if model is not None:
        models = {model.name: model} | connect_helpers(invocation, as_recorded.config, model)
    else:
        first, _ = start_and_end_of(project.trace, request.agent_id)
        used = first.model.get("name") if first is not None else None
        name = str(used or start.config.get("model_name"))
        named = models_named_by([agent], [first])
        models = connect_models(invocation, as_recorded, start, [name], named)
    with undo_on_error(close_models, models.values()):
        fork = _fork(project, record, agent, request, model)
        record = read_own_record(project, record.run_id, trusted=request.trusted)
        only = frozenset({fork.job.agent_id})
        return fork, prepare_resume(invocation, project, record, only=only), models


def fork_agent(project: Project, request: ForkRequest, model: Model | None = None) -> ForkResult:
    """Start a fork of an agent at a turn.

    The fork uses `model`, or the agent's model if `model` is None. Raises whatever
    `runs.continuation.fork.fork` raises, and UsageError if the run belongs to another installation.
    """
    return _fork(project, *_recorded_run(project, request), request, model)


def _recorded_run(project: Project, request: ForkRequest) -> tuple[RunRecord, Agent]:
    """Return the record of the agent's run, and the agent as it is defined now."""
    run_id, operation = forks.run_of_agent(project, request.agent_id)
    record = read_own_record(project, run_id, trusted=request.trusted)
    check_continuable(run_id, record.attempts.start)
    (agent,) = agents_for(project, [operation]).values()
    return record, agent


def _fork(
    project: Project, record: RunRecord, agent: Agent, request: ForkRequest, model: Model | None
) -> ForkResult:
    start = record.attempts.start

    def as_now(_: Job, first: AgentStart) -> AgentStart:
        updated = with_agent(first, agent, project.redact)
        if model is None:
            return updated
        config = recorded_config(project.config, start)
        settings = query_settings_for(config, agent, model, recorded_request(start))
        return with_model(updated, model, settings)

    return forks.fork(project, record, request.agent_id, request.turn, as_now)
