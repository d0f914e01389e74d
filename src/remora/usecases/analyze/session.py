"""A run of jobs, from a project to recorded results: open, prepare, execute, close.

Commands, Python functions, evaluations and servers take these steps here.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import connect_helpers, connect_model
from remora.bootstrap.project_interpreter import check_interpreter, check_tests_start, python_for
from remora.config.schema import Config
from remora.errors import DiskError, ModelError, RemoraError, undo_on_error
from remora.models.protocol import Model, NoModel
from remora.models.provider import model_is_optional, wants_none, why_none
from remora.runs.execution.agent_settings import driven_operations, query_settings_for
from remora.runs.execution.execute import execute
from remora.runs.execution.run import (
    BaseFiles,
    NoObserver,
    PreparedRun,
    Run,
    RunObserver,
    RunRequest,
)
from remora.runs.judgement.judgement import judge_run
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.results import RunView, read_run
from remora.runs.review.repeats import settle_repeats
from remora.sandbox.interpreters import environment_digest
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.prepare_run import prepare
from remora.usecases.analyze.run_limits import RunBudget, planned_within, run_to_end
from remora.usecases.analyze.run_models import close_models, models_named_by
from remora.workspaces.copy.slot import SlotDriver

NO_OBSERVER = NoObserver()
Watching = Callable[[], AbstractContextManager[RunObserver]]


def unobserved() -> AbstractContextManager[RunObserver]:
    return nullcontext(NO_OBSERVER)


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A run that has finished or was stopped."""

    project: Project
    run_id: str
    stopped: str = ""
    """The reason for stopping, or an empty string if the run finished."""
    only: frozenset[str] | None = None
    """The IDs of the agents that ran, or None if all agents ran."""
    had_ended: bool = False
    """True if nothing was left to run."""

    @cached_property
    def view(self) -> RunView:
        """Return the run and its jobs, read from its streams.

        Raises NotFound if the run never started.
        """
        return read_run(self.project, self.run_id)


@dataclass(frozen=True, kw_only=True)
class Session:
    """A planned run that can be executed. At the end of a `with` block, its copy is removed."""

    invocation: Invocation
    run: PreparedRun
    budget: RunBudget
    """What the run may use."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.run.close()

    def why_not_now(self) -> RemoraError | None:
        """Return why the planned jobs cannot run yet, if the project's interpreter is missing."""
        try:
            python_for(self.invocation, self.run.project, self.run.planned_agents)
        except RemoraError as error:
            return error
        return None

    def driven(self, model: Model) -> frozenset[str]:
        """Return the operations whose jobs ask a model."""
        return driven_operations(
            self.run.planned_agents,
            self.run.project.config,
            str(model.describe().get("provider")),
        )

    def execute(
        self,
        watching: Watching = unobserved,
        *,
        model: Model | None = None,
        connected: Callable[[Model], None] = lambda _model: None,
    ) -> RunResult:
        """Run the planned jobs. `watching` opens their observer.

        `model` decides in place of the configured models, for all agents. `connected` is called
        before the first job begins.

        Errors that prevent the run from starting are raised before anything is recorded.
        """
        run = self.run
        check_interpreter(run.project, run.python, run.agents.values())
        if run.base is not None:
            check_tests_start(run.project, run.base.folder, run.python, run.planned_agents)
        main, models = (
            (model, {model.name: model}) if model else connect_new_run(self.invocation, run)
        )
        with undo_on_error(close_models, models.values()):
            create_records(run.project)
            connected(main)
        with watching() as observer:
            counting = self.budget.watch(observer)
            stopped = run_to_end(
                lambda: execute_plan(run, main, counting, utc_now, models),
                models.values(),
                self.budget,
            )
        settle_repeats(run.project, run.run_id)
        return RunResult(project=run.project, run_id=run.run_id, stopped=stopped)


def open_session(
    invocation: Invocation,
    request: RunRequest,
    project: Project | None = None,
    *,
    budget: RunBudget | None = None,
    plan_only: bool = False,
) -> Session:
    """Copy a project and plan a run.

    `project` is the result of `open_project(invocation, request.paths)`, if it is already open. The
    other arguments are those of `prepare`, which takes at most the time of the budget.
    """
    budget = budget or RunBudget()
    with planned_within(budget.seconds):
        run = prepare(invocation, request, project, plan_only=plan_only)
    return Session(invocation=invocation, run=run, budget=budget)


def require_model(invocation: Invocation, config: Config) -> None:
    """Raise ModelError if a flag lets a model decide, and there is none."""
    by_flag = config.layer_of("runner", "decisions") == "flag"
    is_asked = by_flag and config.runner.decisions == "model" and model_is_optional(config.model)
    if is_asked and (hint := why_none(invocation.folders.cache)):
        raise ModelError("no model can decide: none is installed or configured", hint=hint)


def connect_new_run(invocation: Invocation, run: PreparedRun) -> tuple[Model, dict[str, Model]]:
    """Return the configured model, and all models of a new run, keyed by name or role.

    Raises ModelError or ConfigError.
    """
    model = _connect_main(invocation, run)
    with undo_on_error(close_models, [model]):
        own = connect_own_models(invocation, run, model)
    return model, {**own, model.name: model}


def _connect_main(invocation: Invocation, run: PreparedRun) -> Model:
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
    names = models_named_by(prepared.agents.values())
    if wants_none(config.model):
        return dict.fromkeys(names, model)
    return helpers | {
        name: connect_model(invocation, config, name, by_project=True)
        for name in sorted(names)
        if name != model.name
    }


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
    check_models(prepared, models, model)
    create_records(project)
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
        **({"by_client": True} if request.by_client else {}),
    }
