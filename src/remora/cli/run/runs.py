"""The `runs`, `show` and `diff` commands."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, command, rule_option
from remora.cli.app.output import emit, note, print_json, table, wrapped
from remora.cli.app.project_context import (
    next_command,
    note_invalid_names,
    project_of,
    recorded_project,
)
from remora.ids import LAST, display_name
from remora.statuses import STATUSES
from remora.text import age_text, clip, count

_MODEL = 16
"""Characters of a model's name."""

if TYPE_CHECKING:
    from remora.runs.project import ProjectRecords
    from remora.runs.records.run_listing import RunLine


@command("runs", examples=("remora runs", "remora runs --json"))
def runs(options: Options) -> int:
    """List the runs of this project, newest first.

    FAILED is the number of jobs that failed. PENDING is the number of checked changes without
    a verdict, or that could not be merged with your files. A run is damaged if one of its streams
    cannot be read to the end. With --json, the newest is the last.
    """
    import msgspec

    from remora.runs.records.run_listing import list_run_lines

    project = recorded_project(options)
    found = list_run_lines(project.trace)
    note_invalid_names(options, project.trace)
    emit(options, {"runs": msgspec.to_builtins(found)}, _run_rows(options, project, found))
    return 0


@command(
    "show",
    examples=(
        "remora show", "remora show last --status error", "remora show 20260131-0930 --json"
    ),
)  # fmt: skip
@click.argument("run", default=LAST)
@click.option(
    "--status",
    "statuses",
    type=click.Choice(STATUSES),
    multiple=True,
    help="Show only jobs with this status; repeatable.",
)
def show(options: Options, run: str, *, statuses: tuple[str, ...]) -> int:
    """Show the results of a run's jobs.

    RUN is a run ID, a unique prefix of an ID, or `last` (default). The exit code is 1 if a record
    cannot be read. Failed jobs do not change it.
    """
    import msgspec

    from remora.cli.views.run_view import run_lines, status_lines
    from remora.runs.records.name_lookup import run_named
    from remora.runs.records.results import JobDocuments, read_run, run_document

    project = recorded_project(options)
    view = read_run(project, run_named(project.trace, run), details=options.verbose > 0)
    document = run_document(project, view)
    if not statuses:
        lines = run_lines(options, project, view, document)
        if options.verbose:
            from remora.cli.views.plan_view import left_lines, plan_as_run
            from remora.runs.planning.plan import Plan

            plan = plan_as_run(msgspec.convert(view.start.plan, Plan), view)
            lines = chain(lines, left_lines(plan, verbose=True))
        emit(options, document, lines)
        return 1 if view.damaged else 0
    found = [job for job in view.jobs if job.status in statuses]
    selected = JobDocuments(found)
    lines = status_lines(options, view, document, statuses, selected)
    emit(options, {**document, "jobs": selected}, lines)
    return 1 if any(job.stream.damaged for job in found) else 0


@command(
    "diff",
    examples=(
        "remora diff last",
        "remora diff last --rule F401",
        "remora diff last --stat",
        "remora diff last 'src/shop/*' --color never | git apply --check",
    ),
)
@click.argument("run", default=LAST)
@click.argument("nodes", metavar="[NODE]...", nargs=-1)
@rule_option
@click.option("--stat", is_flag=True, help="Print only the numbers of changed lines by file.")
def diff(
    options: Options, run: str, nodes: tuple[str, ...], rules: tuple[str, ...], *, stat: bool
) -> int:
    """Show what a run would change, as unified diffs.

    Without NODE, show all checked changes that were not rejected or reverted. With NODE
    (path:qualname, a qualname, or a glob), show what the jobs of these nodes changed, checked or
    not. With --rule, show what `accept --rule` would write. RUN is a run ID, a unique prefix of an
    ID, or `last` (default). Piped output is a patch, unless colors are forced. The exit code is 1
    if a record cannot be read.
    """
    from remora.cli.views.diff_view import is_patch, print_diffs, print_stat, states_text
    from remora.runs.records.json_documents import diff_document
    from remora.runs.records.name_lookup import run_named
    from remora.runs.records.results import read_run, select_jobs
    from remora.statuses import DISMISSED

    project = recorded_project(options)
    run_id, unusable = run_named(project.trace, run), list[str]()
    if rules:
        from remora.usecases.review.verdicts import Chosen, select

        picked = select(project_of(options), run_id, nodes, Chosen(rules=rules))
        unusable, view, nodes = picked.damaged, picked.as_view, ()
        note(options, *picked.skipped)
    else:
        view = read_run(project, run_id)
    document = diff_document(project, view, nodes, stacked=is_patch() and not options.json)
    if options.json:
        print_json(document)
    elif stat:
        print_stat(project.root, document["diffs"])
    else:
        show = next_command(options, project.root, "show", run_id)
        print_diffs(options, document["diffs"], f"; `{show}` says why" if nodes else "")
        dismissed = Counter(job.review.state for job in view.jobs if job.review.state in DISMISSED)
        if dismissed and not nodes:
            note(
                options,
                f"not shown: {states_text(dismissed)}; to see one, name its function or file",
            )
    asked = select_jobs(view, nodes) if nodes else view.jobs
    unusable += [
        f"{display_name(job.node_id)}: {job.outcome.error}" for job in asked if job.stream.damaged
    ]
    note(options, *unusable)
    return 1 if unusable else 0


def _run_rows(options: Options, project: "ProjectRecords", found: "list[RunLine]") -> Iterator[str]:
    from remora.statuses import DAMAGED

    if not found:
        yield f"no runs yet; start one with `{next_command(options, project.root, 'analyze')}`"
        return
    now = datetime.now(UTC)
    rows = [
        (
            *(run.run_id, age_text(run.started, now), run.status, _operations(run)),
            *(clip(run.model, _MODEL), run.failed, run.undecided),
        )
        for run in reversed(found)
    ]
    yield from table(("RUN", "AGE", "STATUS", "OPERATIONS", "MODEL", "FAILED", "PENDING"), rows)
    if any(run.status == DAMAGED for run in found):
        yield f"`{next_command(options, project.root, 'trace', 'verify')}` shows what is damaged"
    older = [run for run in found[:-1] if run.pending]
    if older:
        show = next_command(options, project.root, "show", older[-1].run_id)
        number = count(len(older), "older run")
        yield from wrapped(f"pending changes in {number}; for the newest, run `{show}`")


def _operations(run: "RunLine") -> str:
    """Return the operations of a run, such as `lint`, `lint, types` or `docstring +3`."""
    if len(run.operations) <= 2:
        return ", ".join(run.operations)
    return f"{run.operations[0]} +{len(run.operations) - 1}"
