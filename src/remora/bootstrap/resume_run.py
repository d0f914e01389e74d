"""From a run on record to one that goes on: its own settings, today's addresses and consent."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from remora.agents.definition.agent import Agent
from remora.bootstrap.hub_facts import fact_source
from remora.bootstrap.invocation import Caller
from remora.bootstrap.open_project import model_key
from remora.bootstrap.prepare_run import agents_for
from remora.bootstrap.recorded_settings import as_begun, wish_of
from remora.bootstrap.run_factory import listeners_for
from remora.bootstrap.test_interpreter import python_for, require_tests
from remora.errors import ModelError, NotFound, StreamDamaged
from remora.models.protocol import Model
from remora.models.provider import open_model
from remora.runs.continuation.resume import check_definition, finish
from remora.runs.execution.run import Run, Watcher
from remora.runs.planning.plan import Plan
from remora.runs.project import Project
from remora.runs.provenance import check_ours
from remora.runs.records.agent_stream import end_of, start_of
from remora.runs.records.attempts import Attempt, Attempts, attempts_of
from remora.runs.records.run_stream import opened_run
from remora.trace.read.reader import RUNNING, last_event, stream_status
from remora.workspaces.copy.driver_choice import require_driver


@dataclass(frozen=True, kw_only=True)
class Resumable:
    """A run to go on with, or only some of its agents.

    The run's project has the configuration that the run began with, where that decides what agents
    do. `models` are the names of those that will be asked, the run's own first.
    """

    run: Run
    attempts: Attempts
    models: tuple[str, ...]
    only: frozenset[str] | None = None

    @property
    def nothing_to_do(self) -> bool:
        """Whether the run came to its end, and every attempt to its own."""
        attempts = self.attempts
        return attempts.ended and not attempts.unended and not attempts.unbegun


def resumable(
    caller: Caller,
    project: Project,
    run_id: str,
    *,
    trusted: bool = False,
    only: frozenset[str] | None = None,
) -> Resumable:
    """What is left of a run that is ours, or `trusted`.

    Plan, operations, seed, limits and the model's name are the run's; consent, addresses and keys
    are never read from a stream. Raises UsageError where the run is not ours, or an agent is not
    any more what it was, or tests cannot be run that agents need; StreamLocked where the run is going on; NotFound, StreamDamaged.
    """
    if last_event(project.trace.existing_run(run_id)) is None:
        hint = "it was killed as it began: there is nothing to go on with"
        raise NotFound(f"the run {run_id} has an empty stream", hint=hint)
    check_ours(project.trace, project.state, project.install_key, run_id, trusted=trusted)
    require_driver(project.config.workspace.driver, project.cache)
    if stream_status(project.trace.existing_run(run_id)) == RUNNING:
        with opened_run(project, run_id):  # refuses, and knows who writes it
            pass
    attempts = attempts_of(project.trace, run_id)
    wish = wish_of(attempts.start, caller)
    project = replace(project, config=as_begun(project.config, attempts.start))
    left = [a for a in attempts.unended if only is None or a.job.agent_id in only]
    unbegun = attempts.unbegun if only is None else []
    wanted = {job.operation for job in [*(a.job for a in left), *unbegun]}
    agents = {a.definition.operation: a for a in agents_for(project, sorted(wanted))}
    of_run = attempts.start.config.get("model_name")
    names = [_model_of(project, attempt, agents, of_run) for attempt in left]
    names += [agents[job.operation].definition.model or of_run for job in unbegun]
    python = python_for(caller, project, agents.values())
    require_tests(python)
    run = Run(
        run_id=run_id,
        project=project,
        request=wish,
        plan=_plan(attempts),
        agents=agents,
        source=fact_source(caller, project),
        python=python,
        default_model=str(of_run),
        settings=attempts.start.config,
        listeners=listeners_for(caller, project.config),
    )
    models = tuple(dict.fromkeys(name for name in names if name))
    return Resumable(run=run, attempts=attempts, models=models, only=only)


def connect_models(caller: Caller, project: Project, names: Iterable[str]) -> dict[str, Model]:
    """By name, the models that are asked again, each at today's address.

    Raises ModelError where that has another one: nobody goes on with a model he did not begin
    with and believes that he did.
    """
    found: dict[str, Model] = {}
    for name in dict.fromkeys(names):
        settings = project.config.model.model_copy(update={"name": name})
        key = model_key(caller, project.config)
        model = open_model(settings, cache=caller.folders.cache, api_key=key)
        if model.name != name:
            raise ModelError(
                f"the agents were asking the model {name}, and the configured server has "
                f"{model.name}",
                hint="name that model's address, or fork an agent with --model",
            )
        found[name] = model
    return found


async def carry_on(
    wanted: Resumable,
    models: Mapping[str, Model],
    watcher: Watcher,
    clock: Callable[[], datetime],
) -> None:
    """Bring the run, or the wanted agents of it, to their ends. Raises as `finish` does, and
    OutsideError where a hub is asked for that does not run."""
    async with wanted.run.source.opened() as facts:
        run = replace(wanted.run, facts=facts, models=models, watcher=watcher, clock=clock)
        await finish(run, only=wanted.only)


def _model_of(
    project: Project, attempt: Attempt, agents: Mapping[str, Agent], of_run: str | None
) -> str | None:
    """The name of the model that an attempt still asks; None where it only lacks its `job_end`,
    or is damaged: then it is not gone on with, and holds up no other one."""
    agent, agent_id = agents[attempt.job.operation], attempt.job.agent_id
    try:
        if end_of(project.trace, agent_id) is not None:
            return None
        start = start_of(project.trace, agent_id)
    except StreamDamaged:
        return None
    if start is None:
        return agent.definition.model or of_run
    check_definition(start, agent, project.redact)
    return str(start.model.get("name") or of_run)


def _plan(attempts: Attempts) -> Plan:
    """The plan as recorded, for who watches."""
    told = attempts.start.plan
    return Plan(
        jobs=attempts.jobs,
        operations=tuple(told.get("operations", ())),
        nodes=told.get("nodes", 0),
        skipped=told.get("skipped", 0),
        findings=told.get("findings", 0),
        unreadable=tuple(told.get("unreadable", ())),
    )
