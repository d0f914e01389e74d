"""Plans and runs the jobs of `analyze`, or resumes a run, and prints the results."""

import gc
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from remora.cli.app.options import Options
from remora.cli.app.output import emit, note, wrapped
from remora.cli.app.project_context import invocation_of, open_with_consent
from remora.cli.app.working import working
from remora.cli.run.foreground_run import LinePrinter, conclude_run, print_isolation
from remora.cli.views.plan_view import (
    expected_text,
    left_lines,
    plan_lines,
    plan_size,
    standard_lines,
    step_document,
)
from remora.cli.views.progress import run_progress
from remora.cli.views.run_view import run_lines, writer_lines
from remora.errors import NotFound, OutsideError, UsageError
from remora.files.git import git_output
from remora.ids import LAST, STUB
from remora.models.protocol import Model, NoModel
from remora.python_text import is_notebook
from remora.runs.execution.run import PreparedRun, RunRequest
from remora.runs.planning.plan import MAX_JOBS
from remora.runs.records.json_documents import plan_document
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import read_run, run_document
from remora.runs.records.run_events import EventLines, RunResulted
from remora.runs.records.run_record import read_own_record
from remora.runs.report.job_texts import unread_text
from remora.text import count
from remora.usecases.analyze.prepare_run import too_many
from remora.usecases.analyze.resume_run import Resumable, resume_recorded
from remora.usecases.analyze.run_limits import RunBudget
from remora.usecases.analyze.session import Session, open_session, require_model
from remora.usecases.look_at_project import next_step


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Request of a run. `flags` contains the settings that options override."""

    request: RunRequest
    flags: Mapping[str, Any]
    budget: RunBudget
    model: str | None
    """The name or address that was given, if any."""
    dry_run: bool
    trust_run: bool


def start_run(options: Options, run: RunOptions, *, json_lines: bool) -> int:
    """Plan a run and start it, and print the results. Return the exit code.

    With `json_lines`, each event is printed as a JSON object.
    """
    gc.freeze()  # the imported modules are never garbage
    lines = LinePrinter() if json_lines else None
    _refuse_other_files(run.request.paths)
    invocation = invocation_of(options, run.flags)
    project = open_with_consent(
        options, invocation, run.request.paths, asks=not run.dry_run, needs_consent=True
    )
    require_model(invocation, project.config)
    with working(options, "looking for work"):
        session = open_session(
            invocation, run.request, project, budget=run.budget, plan_only=run.dry_run
        )
    with session:
        if run.dry_run or not session.run.plan.jobs:
            if why := session.why_not_now():
                note(options, f"these jobs cannot run yet: {why.message} ({why.hint})")
            return _print_plan(options, session, run, lines)
        _refuse_too_many(options, session.run)
        done = session.execute(
            lambda: (
                nullcontext(EventLines(str(project.root), lines))
                if lines
                else run_progress(options)
            ),
            connected=lambda model: _announce(options, session, model),
        )
    return conclude_run(
        options, done.project, done.run_id, done.stopped, announced=True, lines=lines
    )


def resume_run(options: Options, run: RunOptions, name: str) -> int:
    """Run the remaining jobs of the run with a name; return the exit code."""
    invocation = invocation_of(options, run.flags)
    project = open_with_consent(options, invocation)
    run_id = run_named(project.trace, name)
    done = resume_recorded(
        invocation,
        project,
        read_own_record(project, run_id, trusted=run.trust_run),
        model=run.model,
        engine=run.request.engine,
        concurrency=run.request.concurrency,
        budget=run.budget,
        watching=lambda: run_progress(options),
        connected=partial(_announce_rest, options),
    )
    gc.collect()  # the plan and the events of a large run, before its results are read
    if not done.had_ended:
        return conclude_run(options, project, run_id, done.stopped)
    note(options, f"nothing to resume: run {run_id} has already ended")
    view = read_run(project, run_id, details=False)
    document = run_document(project, view)
    emit(options, document, run_lines(options, project, view, document, brief=True))
    return 1 if view.damaged else 0


def _announce_rest(options: Options, wanted: Resumable) -> None:
    attempts = wanted.attempts
    left = len(attempts.unended) + len(attempts.unbegun)
    of = count(len(attempts.jobs), "job")
    note(options, f"run {wanted.run.run_id}: {left:,} of {of} left")
    print_isolation(options)


def _refuse_other_files(paths: Iterable[Path]) -> None:
    for path in paths:
        # notebooks have a reason
        if path.is_file() and path.suffix != ".py" and not is_notebook(path):
            what = "a stub" if path.suffix == STUB else "not a Python file"
            raise UsageError(f"{path} is {what}", hint="use .py files, or folders with .py files")


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


def _announce(options: Options, session: Session, model: Model) -> None:
    """Print the size of the plan, and the name and the model of the run, and how to stop it."""
    prepared = session.run
    note(options, f"{plan_size(prepared.plan)}: {expected_text(prepared)}")
    left = left_lines(prepared.plan, verbose=options.verbose, brief=not options.verbose)
    note(options, *left, *standard_lines(prepared.plan))
    driven = session.driven(model)
    used = "no model: rules only" if isinstance(model, NoModel) else f"model {model.name}"
    if not (driven or isinstance(model, NoModel)):
        is_asked_for = prepared.project.config.runner.decisions == "model"
        hint = "" if is_asked_for else "; --decisions model lets it choose the tool calls"
        used += f" is not asked: rules decide{hint}"
    note(options, f"run {prepared.run_id}, {used}")
    if driven:
        note(options, "Ctrl-C stops it, and `remora analyze --resume last` continues it")
    root = prepared.project.root
    if error := _git_problem(root):
        used = f": using {root} as the project, with records in .agentfs/"
        note(options, error.message + (used if Path.cwd().is_relative_to(root) else ""))
        if error.hint:
            note(options, error.hint)
    print_isolation(options)


def _git_problem(root: Path) -> OutsideError | None:
    """Return why git is not used in the folder, or None if it is."""
    try:
        git_output(root, "rev-parse", "--git-dir")
    except OutsideError as error:
        has_repository = any((folder / ".git").exists() for folder in (root, *root.parents))
        return error if has_repository else OutsideError("no git repository found")
    return None


def _print_plan(
    options: Options, session: Session, run: RunOptions, lines: LinePrinter | None
) -> int:
    prepared = session.run
    project, plan = prepared.project, prepared.plan
    named = run.model or project.config.model.base_url or project.config.model.name
    document = plan_document(project, prepared.run_id, plan, named)
    code = 1 if not plan.files and unread_text(plan.unreadable) else 0
    if lines is not None:
        EventLines(str(project.root), lines).planned(prepared.run_id, plan)
        lines(RunResulted(exit_code=code, stopped="", document=document))
        return code
    text = plan_lines(prepared, document, prepared.request.paths, verbose=options.verbose)
    reasons = () if plan.jobs else {*plan.findings_left, *chain(*plan.left.values())}
    writer = [*writer_lines(options, project, plan.operations, reasons, plan.left_nodes)]
    if not plan.jobs:
        whole = plan if prepared.request == RunRequest() else None
        step = next_step(session.invocation, project, whole)
        document["next"] = step_document(options, project.root, step)
        writer += wrapped(document["next"]["text"])
    emit(options, document, (*text, *writer))
    if not run.dry_run:
        with suppress(NotFound):
            newest = run_named(project.trace, LAST)
            note(options, f"no run was started: `{LAST}` is still run {newest}")
    return code
