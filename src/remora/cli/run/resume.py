"""Implements `analyze --resume`, which completes an interrupted run."""

import gc
from collections.abc import Mapping
from typing import Any, NamedTuple

from remora.bootstrap.invocation import Invocation
from remora.cli.app.address_consent import open_with_consent
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import complete_journals_of
from remora.cli.run.foreground_run import print_run_results, run_to_end
from remora.cli.views.run_view import run_lines
from remora.errors import UsageError
from remora.runs.project import Project
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import read_run, run_document
from remora.runs.records.run_record import read_own_record
from remora.text import count
from remora.usecases.analyze.resume_run import connect_wanted, prepare_resume

_NEW_RUN_OPTIONS = {
    "paths": "PATH",
    "operations": "--operation",
    "node": "--node",
    "changed": "--changed",
    "max_nodes": "--max-nodes",
    "select": "--select",
    "unsafe_fixes": "--unsafe-fixes",
    "strengthen": "--strengthen",
    "max_turns": "--max-turns",
    "seed": "--seed",
    "dry_run": "--dry-run",
}
"""Options that only a new run accepts, as they are written."""


def check_options(asked: Mapping[str, Any]) -> None:
    """Raise UsageError if `asked` contains an option that a resumed run cannot change."""
    given = [
        written
        for name, written in _NEW_RUN_OPTIONS.items()
        if asked[name] not in (None, False, ())
    ]
    if given:
        raise UsageError(
            f"{', '.join(given)} cannot be combined with --resume: "
            "a resumed run keeps its settings",
            hint="omit these options, or start a new run without --resume",
        )


class ResumeRequest(NamedTuple):
    """The arguments of `analyze --resume`."""

    run: str
    model: str | None
    engine: str
    trusted: bool
    max_time: float | None
    concurrency: int | None


def resume_run(options: Options, flags: Mapping[str, Any], request: ResumeRequest) -> int:
    """Run the remaining jobs of a run; return the exit code.

    `flags` contains the settings that options override.
    """
    invocation = invocation_of(options, flags)
    project = open_with_consent(options, invocation)
    complete_journals_of(options, project)
    run_id = run_named(project.trace, request.run)
    stopped = _run_remaining(options, invocation, project, run_id, request)
    gc.collect()  # the plan and the events of a large run, before its results are read
    if stopped is not None:
        return print_run_results(options, project, run_id, stopped)
    note(options, f"nothing to resume: run {run_id} has already ended")
    view = read_run(project, run_id, details=False)
    document = run_document(project, view)
    emit(options, document, run_lines(options, project, view, document, brief=True))
    return 1 if view.damaged else 0


def _run_remaining(
    options: Options, invocation: Invocation, project: Project, run_id: str, request: ResumeRequest
) -> str | None:
    """Run the remaining jobs of a run, or return None if there is nothing to do.

    Otherwise, return the reason if the run was stopped early, or an empty string.
    """
    record = read_own_record(project, run_id, trusted=request.trusted)
    wanted = prepare_resume(
        invocation, project, record, engine=request.engine, concurrency=request.concurrency
    )
    wanted.check_model(request.model)
    if wanted.nothing_to_do:
        return None
    models = connect_wanted(invocation, wanted)
    left = len(wanted.attempts.unended) + len(wanted.attempts.unbegun)
    note(options, f"run {run_id}: {left:,} of {count(len(wanted.attempts.jobs), 'job')} left")
    return run_to_end(options, wanted, models, request.max_time)
