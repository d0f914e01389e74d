"""RunResult, and the functions that run planned jobs."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.project_interpreter import check_interpreter, check_tests_start
from remora.models.protocol import Model
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.execution.run import NoObserver, RunObserver
from remora.runs.project import Project
from remora.runs.records.results import RunView, read_run
from remora.runs.retention.old_records import Retained, retain_after_run
from remora.runs.review.repeats import settle_repeats
from remora.trace.stream.line_builder import utc_now
from remora.usecases.analyze.execute_plan import (
    connect_own_models,
    create_records,
    execute_plan,
    model_for,
)
from remora.usecases.analyze.resume_run import Resumable, run_remaining
from remora.usecases.analyze.run_limits import RunBudget, close_models, run_to_end

NO_OBSERVER = NoObserver()
Watching = Callable[[], AbstractContextManager[RunObserver]]


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A run that has finished or was stopped.

    `stopped` is the reason for stopping, or an empty string if the run finished. `only` contains
    the IDs of the agents that ran, or is None if all agents ran. `retained` says what retention
    removed after the run, and its problems.
    """

    project: Project
    run_id: str
    stopped: str = ""
    only: frozenset[str] | None = None
    retained: Retained = Retained()  # noqa: RUF009 (immutable)

    @cached_property
    def view(self) -> RunView:
        """Return the run and its jobs, read from its streams.

        Raises NotFound if the run never started.
        """
        return read_run(self.project, self.run_id)


def execute(
    invocation: Invocation,
    run: PreparedRun,
    watching: Watching = lambda: nullcontext(NO_OBSERVER),
    *,
    model: Model | None = None,
    connected: Callable[[Model], None] = lambda _model: None,
    budget: RunBudget | None = None,
) -> RunResult:
    """Run a plan created by `prepare`. `watching` opens the observer of the jobs.

    `model` decides in place of the configured models, for all agents.

    Errors that prevent the run from starting are raised before anything is recorded.
    """
    check_interpreter(run.project, run.python, run.agents.values())
    if run.base is not None:
        check_tests_start(run.project, run.base.folder, run.python, run.planned_agents)
    is_configured = model is None
    model = model or model_for(invocation, run)
    models = [model]
    try:
        own = connect_own_models(invocation, run, model) if is_configured else {}
        models += own.values()
        create_records(run.project)
        connected(model)
    except BaseException:
        close_models(models)
        raise
    budget = budget or RunBudget()
    with watching() as observer:
        counting = budget.watch(observer)
        stopped = run_to_end(
            lambda: execute_plan(run, model, counting, utc_now, own), models, budget
        )
    settle_repeats(run.project, run.run_id)
    return RunResult(project=run.project, run_id=run.run_id, stopped=stopped)


def continue_run(
    wanted: Resumable,
    models: Mapping[str, Model],
    observer: RunObserver = NO_OBSERVER,
    budget: RunBudget | None = None,
) -> RunResult:
    """Run the remaining jobs, or only the agents in `wanted.only`, and close the models."""
    run, budget = wanted.run, budget or RunBudget()
    stopped = run_to_end(
        lambda: run_remaining(wanted, models, budget.watch(observer), utc_now),
        models.values(),
        budget,
    )
    settle_repeats(run.project, run.run_id)
    return RunResult(project=run.project, run_id=run.run_id, stopped=stopped, only=wanted.only)


def retain(done: RunResult) -> RunResult:
    """Apply the retention limits after a run, if configured."""
    if done.stopped:
        return done
    return replace(done, retained=retain_after_run(done.project, done.run_id, utc_now()))
