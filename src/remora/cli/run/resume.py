"""Implements `analyze --resume`, which completes an interrupted run."""

import gc

from remora.bootstrap.invocation import Invocation
from remora.cli.app.address_consent import open_with_consent
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import complete_journals_of
from remora.cli.app.run_options import RunOptions
from remora.cli.run.foreground_run import print_run_results, run_to_end
from remora.cli.views.run_view import run_lines
from remora.runs.project import Project
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import read_run, run_document
from remora.runs.records.run_record import read_own_record
from remora.text import count
from remora.usecases.analyze.resume_run import connect_wanted, prepare_resume


def resume_run(options: Options, run: RunOptions, name: str) -> int:
    """Run the remaining jobs of the run with a name; return the exit code."""
    invocation = invocation_of(options, run.flags)
    project = open_with_consent(options, invocation)
    complete_journals_of(options, project)
    run_id = run_named(project.trace, name)
    stopped = _run_remaining(options, invocation, project, run_id, run)
    gc.collect()  # the plan and the events of a large run, before its results are read
    if stopped is not None:
        return print_run_results(options, project, run_id, stopped)
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
    return run_to_end(options, wanted, models, run.max_time)
