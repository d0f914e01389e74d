"""Implements `sweep list`, `show`, `diff` and `report`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from remora.cli.app.options import Options
from remora.cli.app.output import emit, note, print_json
from remora.cli.app.project_context import invocation_of, runs_outside_database
from remora.cli.sweep.sweep_view import VERDICTS, counted_table, sweep_lines
from remora.cli.views.diff_view import print_diffs
from remora.config.repository_list import read_repository_list
from remora.errors import RemoraError, UsageError
from remora.runs.project import ProjectRecords
from remora.runs.records.json_documents import diff_document
from remora.runs.records.results import read_run
from remora.runs.report.sweep_report import sweep_markdown
from remora.text import count, escape_line
from remora.usecases.sweep.report_sweep import make_sweep_report
from remora.usecases.sweep.sweep_records import RecordedSweep, list_sweeps, read_sweep
from remora.usecases.sweep.sweep_summary import MISSING, SweepSummary, summarize


def list_runs(options: Options, file: Path) -> int:
    """Print the sweeps of the listed repositories. Return 1 if one cannot be opened."""
    refuse_root(options)
    sweeps, projects, errors = list_sweeps(invocation_of(options), read_repository_list(file))
    found = [summarize(sweep.without_earlier()) for sweep in sweeps]
    emit(options, {"runs": [_entry(one) for one in found]}, _lines(found, projects))
    note(options, *(f"{name}: {error.message}" for name, error in errors.items()))
    return 1 if errors else 0


def show_sweep(options: Options, file: Path, run: str) -> int:
    """Print a sweep, from the streams of its runs. Return 1 if one of them cannot be read."""
    summary = summarize(open_sweep(options, file, run))
    emit(options, summary.document(), sweep_lines(file, summary))
    return 1 if any(one.is_unreadable for one in summary.repositories) else 0


def diff_sweep(options: Options, file: Path, run: str) -> int:
    """Print what a sweep would change in each repository, each after a line with its name.

    Returns 1 if the records of one cannot be read.
    """
    sweep = open_sweep(options, file, run)
    errors = [(name, error.message) for name, error in sweep.unreadable()]
    documents = []
    for name, project, run_id in sweep.recorded():
        try:
            view = read_run(project, run_id)
            document = diff_document(project, view, ())
        except RemoraError as failure:
            errors.append((name, failure.message))
            continue
        errors += [(name, str(job.error)) for job in view.damaged]
        if options.json:
            documents.append({"name": name, **document})
        elif document["diffs"]:
            heading = f"repository {name} in {project.root}:"  # `git apply` and `patch` skip it
            click.echo(click.style(escape_line(heading), bold=True))
            print_diffs(options, document["diffs"])
    if options.json:
        documents += [{"name": name, "error": error} for name, error in errors]
        print_json({"run_id": sweep.run_id, "repositories": documents})
    note(options, *(f"{name}: {error}" for name, error in errors))
    return 1 if errors else 0


def report_sweep(options: Options, file: Path, run: str) -> int:
    """Print the report of a sweep. Return 1 if records cannot be read."""
    sweep = open_sweep(options, file, run)
    report = make_sweep_report(sweep, invocation_of(options).operations)
    if options.json:
        print_json(report.as_json())
    else:
        click.echo(sweep_markdown(report), nl=False)
    return 1 if any(one.error and one.status != MISSING for one in report.repositories) else 0


def open_sweep(options: Options, file: Path, run: str) -> RecordedSweep:
    """Find the run of a sweep of the listed repositories. Raises whatever `read_sweep` raises."""
    refuse_root(options)
    return read_sweep(invocation_of(options), read_repository_list(file), run)


def refuse_root(options: Options) -> None:
    """Raise UsageError if one project is selected although the list selects the projects."""
    if options.root is not None or options.config is not None:
        raise UsageError(
            "a sweep cannot be combined with --root or --config",
            hint="each repository is a project with its own configuration",
        )


def _entry(one: SweepSummary) -> dict[str, object]:
    return {"run_id": one.run_id, "status": one.status, **one.document()["totals"]}


def _lines(found: Sequence[SweepSummary], projects: Sequence[ProjectRecords]) -> Iterator[str]:
    if not found:
        yield "no runs yet; start one with `remora sweep run FILE`"
        yield from _outside_database(projects)
        return
    rows = []
    for one in found:
        totals = one.document()["totals"]
        numbers = (totals[name] for name in ("repositories", "jobs", *map(str.lower, VERDICTS)))
        rows.append((one.run_id, one.status, *numbers))
    yield from counted_table(("RUN", "STATUS", "REPOSITORIES", "JOBS", *VERDICTS), rows)


def _outside_database(projects: Sequence[ProjectRecords]) -> Iterator[str]:
    """Yield a line if repositories have runs in `.agentfs/` that are not in their database."""
    left = [(project, own) for project in projects if (own := runs_outside_database(project))]
    if left:
        where = count(len(left), "repository", "repositories")
        yield f"the runs in .agentfs/ of {where} are not in the database"
