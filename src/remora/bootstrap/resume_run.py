"""Resume a recorded run with its settings, but with current addresses and consent."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from remora.agents.definition.agent import Agent
from remora.bootstrap.hub_facts import fact_source
from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import model_key
from remora.bootstrap.prepare_run import agents_for
from remora.bootstrap.recorded_settings import recorded_config, recorded_request
from remora.bootstrap.run_factory import listeners_for
from remora.bootstrap.test_interpreter import python_for, require_tests
from remora.errors import ModelError, StreamDamaged
from remora.models.protocol import Model
from remora.models.provider import open_model
from remora.runs.continuation.resume import check_definition, finish_run
from remora.runs.execution.run import Run, RunObserver
from remora.runs.planning.plan import Plan
from remora.runs.project import Project
from remora.runs.records.agent_stream import start_and_end_of
from remora.runs.records.attempts import Attempt, Attempts
from remora.runs.records.run_record import RunRecord
from remora.runs.records.run_stream import open_run
from remora.workspaces.copy.driver_choice import require_driver


@dataclass(frozen=True, kw_only=True)
class Resumable:
    """A run to resume, or only some of its agents.

    `run.project` has the recorded configuration for everything that affects agents. `models`: names
    of the models needed.
    """

    run: Run
    record: RunRecord
    attempts: Attempts
    models: tuple[str, ...]
    only: frozenset[str] | None = None

    @property
    def nothing_to_do(self) -> bool:
        """True if the run and all of its attempts have ended."""
        attempts = self.attempts
        return attempts.ended and not attempts.unended and not attempts.unbegun


def prepare_resume(
    invocation: Invocation,
    project: Project,
    record: RunRecord,
    *,
    only: frozenset[str] | None = None,
) -> Resumable:
    """Return the remaining work of a run; `record` is its verified record.

    Plan, operations, seed, limits and the model's name come from the record. Consent, addresses and
    keys are never read from a stream. Raises UsageError if an agent has changed or required tests
    cannot run; StreamLocked if the run is running; StreamDamaged.
    """
    require_driver(project.config.workspace.driver, project.cache)
    if record.is_written:
        with open_run(project, record) as stream:  # raises if it is locked, naming the writer
            record = stream.record
    attempts = record.attempts()
    request = recorded_request(attempts.start, invocation)
    project = replace(project, config=recorded_config(project.config, attempts.start))
    left = [a for a in attempts.unended if only is None or a.job.agent_id in only]
    unbegun = attempts.unbegun if only is None else []
    wanted = {job.operation for job in [*(a.job for a in left), *unbegun]}
    agents = {a.definition.operation: a for a in agents_for(project, sorted(wanted))}
    of_run = attempts.start.config.get("model_name")
    names = [_model_of(project, attempt, agents, of_run) for attempt in left]
    names += [agents[job.operation].definition.model or of_run for job in unbegun]
    python = python_for(invocation, project, agents.values())
    require_tests(python)
    run = Run(
        run_id=record.run_id,
        project=project,
        request=request,
        plan=_plan(attempts),
        agents=agents,
        source=fact_source(invocation, project),
        python=python,
        default_model=str(of_run),
        settings=attempts.start.config,
        listeners=listeners_for(invocation, project.config),
    )
    models = tuple(dict.fromkeys(name for name in names if name))
    return Resumable(run=run, record=record, attempts=attempts, models=models, only=only)


def connect_models(
    invocation: Invocation, project: Project, names: Iterable[str]
) -> dict[str, Model]:
    """Return the models, keyed by name, each at its current address.

    Raises ModelError if the server has another model: a run never changes its model silently.
    """
    found: dict[str, Model] = {}
    for name in dict.fromkeys(names):
        settings = project.config.model.model_copy(update={"name": name})
        key = model_key(invocation, project.config)
        model = open_model(settings, cache=invocation.folders.cache, api_key=key)
        if model.name != name:
            raise ModelError(
                f"the agents used the model {name}, but the configured "
                f"server provides {model.name}",
                hint="use a server with the original model, or fork an agent with --model",
            )
        found[name] = model
    return found


async def run_remaining(
    wanted: Resumable,
    models: Mapping[str, Model],
    observer: RunObserver,
    clock: Callable[[], datetime],
) -> None:
    """Run the remaining jobs, or only the wanted agents.

    Raises whatever `finish_run` raises, and OutsideError if a required hub is not running.
    """
    async with wanted.run.source.opened() as facts:
        run = replace(wanted.run, facts=facts, models=models, observer=observer, clock=clock)
        await finish_run(run, wanted.record, only=wanted.only)


def _model_of(
    project: Project, attempt: Attempt, agents: Mapping[str, Agent], of_run: str | None
) -> str | None:
    """Return the name of the model that an attempt still needs.

    Returns None if only its `job_end` is missing, or if it is damaged and cannot be continued.
    """
    agent, agent_id = agents[attempt.job.operation], attempt.job.agent_id
    try:
        start, end = start_and_end_of(project.trace, agent_id)
    except StreamDamaged:
        return None
    if end is not None:
        return None
    if start is None:
        return agent.definition.model or of_run
    check_definition(start, agent, project.redact)
    return str(start.model.get("name") or of_run)


def _plan(attempts: Attempts) -> Plan:
    """Return the recorded plan, for observers."""
    plan = attempts.start.plan
    return Plan(
        jobs=attempts.jobs,
        operations=tuple(plan.get("operations", ())),
        nodes=plan.get("nodes", 0),
        skipped=plan.get("skipped", 0),
        findings=plan.get("findings", 0),
        unreadable=tuple(plan.get("unreadable", ())),
    )
