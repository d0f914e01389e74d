"""Shows a sweep: a line for each repository, totals, and what to do next."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from remora.cli.app.output import color_word, table, wrapped
from remora.statuses import ENDED, FAILURES, OVER
from remora.text import count
from remora.usecases.sweep.sweep_summary import NOT_STARTED, RepositorySummary, SweepSummary

VERDICTS = ("PENDING", "ACCEPTED", "REJECTED", "REVERTED")
"""Columns with the numbers of change sets in each state of review."""
_RARE = (*VERDICTS[1:], "CONFLICT", "FAILED")


def sweep_lines(file: Path, summary: SweepSummary, *, heading: bool = True) -> Iterator[str]:
    """Yield the lines that describe a sweep. `file` is the list of repositories."""
    if heading:
        yield click.style(f"run {summary.run_id} · {summary.status}", bold=True)
    heads = ("REPOSITORY", "STATUS", "JOBS", *VERDICTS, "CONFLICT", "FAILED")
    yield from counted_table(heads, [_row(repository) for repository in summary.repositories])
    for one in summary.repositories:
        if one.error:
            hint = f" ({one.hint})" if one.hint else ""
            first, *more = wrapped(f"error {one.name}: {one.error}{hint}")
            yield from (color_word("error") + first.removeprefix("error"), *more)
    totals = summary.document()["totals"]
    yield ""
    yield from wrapped(
        f"{count(totals['repositories'], 'repository', 'repositories')}, "
        f"{count(totals['jobs'], 'job')}: {count(totals['pending'], 'change')} to review"
    )
    yield from _next(file, summary, totals)


def counted_table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the lines of a table without the verdicts and failures that no row has."""
    shown = [n for n, head in enumerate(heads) if head not in _RARE or any(row[n] for row in rows)]
    return table([heads[n] for n in shown], [[row[n] for n in shown] for row in rows])


def _row(one: RepositorySummary) -> tuple[object, ...]:
    failed = sum(n for name, n in one.statuses.items() if name in FAILURES)
    verdicts = one.pending, one.accepted, one.rejected, one.reverted
    return one.name, _status(one), one.jobs, *verdicts, one.conflicts, failed


def _status(one: RepositorySummary) -> str:
    """Return the status of a repository. Lines below the table show the errors."""
    if one.earlier and one.status == ENDED:
        return NOT_STARTED if one.error else f"unchanged since {one.run_id}"
    return one.status


def _next(file: Path, summary: SweepSummary, totals: Mapping[str, int]) -> Iterator[str]:
    def command(verb: str, *words: str) -> str:
        return "  " + shlex.join(["remora", "sweep", verb, str(file), summary.run_id, *words])

    is_recorded = any(one.run_id == summary.run_id for one in summary.repositories)
    if is_recorded and any(repository.status not in OVER for repository in summary.repositories):
        yield f"  remora sweep run {shlex.quote(str(file))} --resume {summary.run_id}"
    if totals["pending"]:
        yield command("review")
        yield command("accept", "--if", "verified", "--git-branch", "remora/{operation}")
