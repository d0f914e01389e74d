"""Runs a plan with a model."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import connect_helpers, connect_model
from remora.errors import DiskError
from remora.models.protocol import MCP, Model, NoModel
from remora.models.provider import model_is_optional, wants_none
from remora.runs.execution.agent_settings import query_settings_for
from remora.runs.execution.execute import execute
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.execution.run import BaseFiles, Run, RunObserver
from remora.runs.judgement.judgement import judge_run
from remora.runs.project import ProjectRecords
from remora.sandbox.interpreters import environment_digest
from remora.workspaces.copy.slot import SlotDriver


def model_for(invocation: Invocation, run: PreparedRun) -> Model:
    """Return the configured model, or NoModel in place of the embedded one if no job can ask it.

    Built-in agents ask the embedded model only if it decides, or if the settings name it.
    """
    config = run.project.config
    operations = run.project.operations
    known = {operation.name for operation in operations.all} - operations.replaced
    is_asked = config.runner.decisions == "model" or not model_is_optional(config.model)
    if not is_asked and all(
        agent.definition.operation in known and agent.definition.model is None
        for agent in run.planned_agents
    ):
        return NoModel()
    return connect_model(invocation, config)


def create_records(project: ProjectRecords) -> None:
    """Create the folder for streams. Raises DiskError if it cannot be created."""
    try:
        project.trace.create()
    except DiskError as error:
        raise DiskError(
            error.message,
            hint="make the project root writable, because runs are "
            "recorded there, or work on a copy",
        ) from error


def connect_own_models(
    invocation: Invocation, prepared: PreparedRun, model: Model
) -> dict[str, Model]:
    """Return the models that agent definitions select instead of `model`, keyed by name.

    Models that help `model` are keyed by their role.

    All models use the configured server, or are `model` if no model is to be used. Raises
    ModelError or ConfigError.
    """
    config = prepared.project.config
    helpers = connect_helpers(invocation, config, model)
    names = {agent.definition.model for agent in prepared.agents.values()}
    if wants_none(config.model):
        return dict.fromkeys(filter(None, names), model)
    return helpers | {
        name: connect_model(invocation, config, name, by_project=True)
        for name in sorted(filter(None, names))
        if name != model.name
    }


async def execute_plan(
    prepared: PreparedRun,
    model: Model,
    observer: RunObserver,
    clock: Callable[[], datetime],
    own: Mapping[str, Model] | None = None,
) -> None:
    """Run the plan until all of its jobs have ended.

    `own` contains the models from `connect_own_models`. Raises ModelError if a model cannot answer
    as configured, and OutsideError if a required Hub is not running.
    """
    project, base, ruff = prepared.project, prepared.base, prepared.ruff
    assert base is not None, "a new run has a base"
    assert ruff is not None, "a new run has a base"
    models = {**(own or {}), model.name: model}
    check_models(prepared, models, model)  # before anything is recorded
    nodes = sorted({key for keys in prepared.plan.worked_on.values() for key in keys})
    async with prepared.source.opened(nodes) as facts:
        run = Run(
            prepared=prepared,
            models=models,
            settings=settings_to_record(prepared, model),
            facts=facts,
            observer=observer,
            clock=clock,
            judge=judge_run,
        )
        workspaces = SlotDriver(base, project.cache / "slots")
        await execute(run, BaseFiles(base=base, workspaces=workspaces, ruff=ruff))


def check_models(prepared: PreparedRun, models: Mapping[str, Model], model: Model) -> None:
    """Raise ModelError or ConfigError if a model cannot answer an agent as configured."""
    for agent in prepared.agents.values():
        used = models[agent.definition.model or model.name]
        query_settings_for(prepared.project.config, agent, used, prepared.request)


def settings_to_record(prepared: PreparedRun, model: Model) -> dict[str, Any]:
    """Return the configuration and the arguments that `run_start` records."""
    request, python = prepared.request, prepared.python
    return {
        **prepared.project.config.model_dump(mode="json"),
        "model_name": model.name,
        "unsafe_fixes": request.unsafe_fixes,
        "seed": request.seed,
        "max_turns": request.max_turns,
        "environment": environment_digest(python) if python else None,
        **({"missed": request.missed} if request.missed else {}),
        **({"by_client": True} if model.describe().get("provider") == MCP else {}),
        **({"proved": sorted(request.proved)} if request.proved else {}),
    }
