"""Implements `analyze --resume`, which completes an interrupted run."""

from remora.bootstrap.open_project import open_project
from remora.bootstrap.resume_run import Resumable, connect_models, prepare_resume
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import (
    emit,
    note,
)
from remora.cli.app.project_context import complete_journals_of
from remora.cli.run.analyze_options import AnalyzeOptions
from remora.cli.run.foreground_run import print_run_results, run_to_end
from remora.cli.views.run_view import run_lines
from remora.errors import UsageError
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import read_run, run_document
from remora.runs.records.run_record import read_own_record
from remora.text import count


def resume(options: Options, run: str, asked: AnalyzeOptions) -> int:
    """Run the remaining jobs of a run; return the exit code."""
    asked.check_for_resume()
    invocation = invocation_of(options, asked.flags())
    project = open_project(invocation)
    complete_journals_of(options, project)
    run_id = run_named(project.trace, run)
    record = read_own_record(project, run_id, trusted=asked.trust_run)
    wanted = prepare_resume(invocation, project, record)
    _refuse_other_model(wanted, asked.model)
    if wanted.nothing_to_do:
        note(options, f"nothing to resume: run {run_id} has already ended")
        view = read_run(project, record)
        document = run_document(project, view)
        emit(options, document, run_lines(options, project, view, document))
        return 1 if view.damaged else 0
    models = connect_models(invocation, wanted.run.project, wanted.models)
    left = len(wanted.attempts.unended) + len(wanted.attempts.unbegun)
    note(options, f"run {run_id}: {left:,} of {count(len(wanted.attempts.jobs), 'job')} left")
    stopped = run_to_end(options, wanted, models, asked.max_time)
    return print_run_results(options, project, run_id, stopped)


def _refuse_other_model(wanted: Resumable, model: str | None) -> None:
    """Raise UsageError if `model` is a different model. A server address is allowed."""
    if model is None or "://" in model or not wanted.models or model in wanted.models:
        return
    raise UsageError(
        f"the run uses the model {', '.join(wanted.models)}, not {model}",
        hint="omit --model, or pass the address of a server that has this model; "
        "`remora trace fork` can use another model",
    )
