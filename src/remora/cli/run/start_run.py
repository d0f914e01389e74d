"""Plans and runs the jobs of `analyze`, or resumes a run, and prints the results."""

import gc
import sys
from collections.abc import Collection, Iterable
from contextlib import closing, nullcontext, suppress
from itertools import chain
from pathlib import Path

import click

from remora.bootstrap.invocation import Invocation
from remora.bootstrap.open_project import measured_operations, open_project
from remora.bootstrap.project_interpreter import python_for
from remora.cli.app.address_consent import ask_for_addresses, open_with_consent
from remora.cli.app.json_lines import LinePrinter
from remora.cli.app.options import Options
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import complete_journals_of, git_error, invocation_of
from remora.cli.app.run_options import RunOptions
from remora.cli.app.working import working
from remora.cli.run.foreground_run import (
    conclude_run,
    print_isolation,
    run_to_end,
)
from remora.cli.views.plan_view import (
    expected_text,
    left_lines,
    plan_lines,
    plan_size,
    standard_lines,
)
from remora.cli.views.progress import run_progress
from remora.cli.views.run_view import run_lines, writer_lines
from remora.errors import NotFound, RemoraError, UsageError
from remora.ids import LAST
from remora.models.agreed_addresses import require_agreed
from remora.models.protocol import Model, NoModel
from remora.runs.execution.agent_settings import driven_operations
from remora.runs.execution.prepared_run import PreparedRun
from remora.runs.measured_models import MeasuredModel
from remora.runs.planning.plan import MAX_JOBS
from remora.runs.planning.source_files import is_notebook
from remora.runs.project import Project
from remora.runs.records.json_documents import plan_document
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import read_run, run_document
from remora.runs.records.run_events import EventLines, RunResulted
from remora.runs.records.run_record import read_own_record
from remora.text import count
from remora.usecases.analyze.prepare_run import prepare, require_model, too_many
from remora.usecases.analyze.resume_run import connect_wanted, prepare_resume
from remora.usecases.analyze.run_limits import planned_within
from remora.usecases.analyze.run_result import execute


def start_run(options: Options, run: RunOptions, lines: LinePrinter | None) -> int:
    """Plan a run and start it, and print the results. Return the exit code.

    `lines` prints each event as a JSON object.
    """
    _refuse_other_files(run.request.paths)
    invocation = invocation_of(options, run.flags)
    project = open_project(invocation, run.request.paths)
    _note_other_project(options, project.root)
    complete_journals_of(options, project)
    if not run.dry_run:
        project = ask_for_addresses(options, project, invocation)
        require_agreed(project.config)
    require_model(invocation, project.config)
    with working(options, "looking for work"), planned_within(run.budget.seconds):
        prepared = prepare(invocation, run.request, project, plan_only=run.dry_run)
    with closing(prepared):
        if run.dry_run or not prepared.plan.jobs:
            _note_missing_interpreter(options, invocation, prepared)
            return _print_plan(options, prepared, run, lines)
        _refuse_too_many(options, prepared)
        done = execute(
            invocation,
            prepared,
            watching=lambda: (
                nullcontext(EventLines(str(project.root), lines))
                if lines
                else run_progress(options)
            ),
            connected=lambda model: _announce(options, invocation, prepared, model),
            budget=run.budget,
        )
    return conclude_run(
        options, done.project, done.run_id, done.stopped, announced=True, lines=lines
    )


def resume_run(options: Options, run: RunOptions, name: str) -> int:
    """Run the remaining jobs of the run with a name; return the exit code."""
    invocation = invocation_of(options, run.flags)
    project = open_with_consent(options, invocation)
    run_id = run_named(project.trace, name)
    stopped = _run_remaining(options, invocation, project, run_id, run)
    gc.collect()  # the plan and the events of a large run, before its results are read
    if stopped is not None:
        return conclude_run(options, project, run_id, stopped)
    note(options, f"nothing to resume: run {run_id} has already ended")
    view = read_run(project, run_id, details=False)
    document = run_document(project, view)
    emit(options, document, run_lines(options, project, view, document, brief=True))
    return 1 if view.damaged else 0


def _run_remaining(
    options: Options, invocation: Invocation, project: Project, run_id: str, run: RunOptions
) -> str | None:
    """Run the remaining jobs of a run, or return None if there is nothing to do.

    Otherwise, return the reason if the run was stopped early, or an empty string.
    """
    record = read_own_record(project, run_id, trusted=run.trust_run)
    request = run.request
    wanted = prepare_resume(
        invocation, project, record, engine=request.engine, concurrency=request.concurrency
    )
    wanted.check_model(run.model)
    if wanted.nothing_to_do:
        return None
    models = connect_wanted(invocation, wanted)
    left = len(wanted.attempts.unended) + len(wanted.attempts.unbegun)
    note(options, f"run {run_id}: {left:,} of {count(len(wanted.attempts.jobs), 'job')} left")
    return run_to_end(options, wanted, models, run.budget)


def _refuse_other_files(paths: Iterable[Path]) -> None:
    for path in paths:
        # notebooks have a reason
        if path.is_file() and path.suffix != ".py" and not is_notebook(path):
            raise UsageError(
                f"{path} is not a Python file", hint="use .py files, or folders with .py files"
            )


def _note_other_project(options: Options, root: Path) -> None:
    """Print the root of a project that is not found from the current directory."""
    if options.root is None and not Path.cwd().is_relative_to(root):
        note(options, f"using {root} as the project, with records in its .agentfs/")


def _refuse_too_many(options: Options, prepared: PreparedRun) -> None:
    """Ask in a terminal if a plan has very many jobs. Raises UsageError if the answer is not yes."""
    if not too_many(prepared.plan, prepared.request):
        return
    size, estimate = plan_size(prepared.plan), expected_text(prepared)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not (options.json or options.quiet)
    if asks and click.confirm(f"{size}, {estimate}. Run all?", err=True):
        return
    raise UsageError(
        f"{size}, {estimate}: exceeds the limit of {MAX_JOBS} jobs",
        hint="use --max-nodes N for the first N nodes, or --yes for all; --dry-run lists them",
    )


def _announce(
    options: Options, invocation: Invocation, prepared: PreparedRun, model: Model
) -> None:
    """Print the size of the plan, and the name and the model of the run, and how to stop it."""
    note(options, f"{plan_size(prepared.plan)}: {expected_text(prepared)}")
    left = left_lines(prepared.plan, verbose=options.verbose, brief=not options.verbose)
    note(options, *left, *standard_lines(prepared.plan))
    driven = driven_operations(
        prepared.planned_agents,
        prepared.project.config,
        str(model.describe().get("provider")),
        prepared.request.proved,
        model.name,
    )
    used = "no model: rules only" if isinstance(model, NoModel) else f"model {model.name}"
    if not (driven or isinstance(model, NoModel)):
        is_asked_for = prepared.project.config.runner.decisions == "model"
        hint = "" if is_asked_for else "; --decisions model lets it choose the tool calls"
        used += f" is not asked: rules decide{hint}"
    note(options, f"run {prepared.run_id}, {used}")
    if driven:
        note(options, "Ctrl-C stops it, and `remora analyze --resume last` continues it")
    _note_measurements(options, invocation, prepared, model, driven)
    root = prepared.project.root
    if error := git_error(root):
        used = f": using {root} as the project, with records in .agentfs/"
        note(options, error.message + (used if Path.cwd().is_relative_to(root) else ""))
        if error.hint:
            note(options, error.hint)
    print_isolation(options)


def _note_measurements(
    options: Options,
    invocation: Invocation,
    prepared: PreparedRun,
    model: Model,
    driven: Collection[str],
) -> None:
    """Say if a model that decides was found to be better than rules on this project."""
    project = prepared.project
    if isinstance(model, NoModel):
        return
    address = project.config.model.base_url or "configured"
    operations = invocation.operations.all
    known = [operation.name for operation in operations if operation.name in driven]
    found = measured_operations(invocation, project.root, project.config, model.name, known)
    for name, measured in found.items():
        command = f"`remora eval -o {name} --arm rules --arm {address}`"
        if measured is None:
            note(options, f"{name}: {model.name} was not measured on this project: {command}")
        elif not measured.helps:
            note(options, f"{name}: {model.name} was not found to be better than rules: {command}")
        elif (name, model.name) in prepared.request.proved:
            note(options, f"{name}: {model.name} decides, {_gain_text(measured)}")


def _gain_text(measured: MeasuredModel) -> str:
    low, high = (f"{end * 100:.0f}" for end in measured.gain_ci95 or (0, 0))
    return (
        f"because `remora eval` found it better than rules here on {measured.date}: it restored "
        f"{low} to {high} percentage points more (--decisions rules overrides)"
    )


def _note_missing_interpreter(
    options: Options, invocation: Invocation, prepared: PreparedRun
) -> None:
    """Print what the planned jobs need before they can run, if the interpreter is missing."""
    try:
        python_for(invocation, prepared.project, prepared.planned_agents)
    except RemoraError as error:
        note(options, f"these jobs cannot run yet: {error.message} ({error.hint})")


def _print_plan(
    options: Options, prepared: PreparedRun, run: RunOptions, lines: LinePrinter | None
) -> int:
    project, plan = prepared.project, prepared.plan
    named = run.model or project.config.model.base_url or project.config.model.name
    document = plan_document(project, prepared.run_id, plan, named)
    if lines is not None:
        EventLines(str(project.root), lines).planned(prepared.run_id, plan)
        lines(RunResulted(exit_code=0, stopped="", document=document))
        return 0
    text = plan_lines(prepared, document, prepared.request.paths, verbose=options.verbose)
    reasons = () if plan.jobs else {*plan.findings_left, *chain(*plan.left.values())}
    emit(
        options,
        document,
        (*text, *writer_lines(options, project, plan.operations, reasons, plan.left_nodes)),
    )
    if not run.dry_run:
        with suppress(NotFound):
            newest = run_named(project.trace, LAST)
            note(options, f"no run was started: `{LAST}` is still run {newest}")
    return 0
