"""The `clean` command, which frees unused disk space."""

import sys
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, note, print_lines, wrapped
from remora.cli.app.project_context import complete_journals_of, invocation_of, note_always_on
from remora.errors import UsageError
from remora.text import count, escape_line, size_text

if TYPE_CHECKING:
    from remora.runs.retention.removable import CleanResult

_KINDS = {
    "workspace": ("private copy", "private copies"),
    "base": ("frozen copy", "frozen copies"),
    "ref": ("kept commit", "kept commits"),
    "conflict": ("file left over from a conflict", "files left over from conflicts"),
    "clone": ("repository copy of workers", "repository copies of workers"),
    "hub": ("Hub database", "Hub databases"),
    "run": ("old run", "old runs"),
    "stream": ("compressed stream", "compressed streams"),
}


@command(
    "clean",
    examples=(
        "remora clean --dry-run",
        "remora clean --yes --json",
        "remora clean --older-than 30 --yes",
    ),
)
@click.option(
    "--older-than",
    type=click.IntRange(min=0),
    metavar="DAYS",
    help="Also remove runs whose last event is so many days old.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be removed without removing it.")
@click.option("-y", "--yes", is_flag=True, help="Remove without asking.")
def clean(options: Options, *, older_than: int | None, dry_run: bool, yes: bool) -> int:
    """Show and free disk space that is no longer needed.

    This covers private copies, unused repository copies of workers, kept commits, unreferenced data
    and hub.db. Streams are compressed runner.memory.retention.compress_after_days after a run, and
    runs are removed only if they are --older-than DAYS. What a running, resumable or unreviewed run
    needs is kept, and so are model weights.
    """
    from remora.bootstrap.open_project import open_project
    from remora.runs.retention.removable import remove_all
    from remora.trace.stream.line_builder import utc_now
    from remora.usecases.clean_up import cleanable, is_hub_in_use

    invocation = invocation_of(options)
    project = open_project(invocation)
    note_always_on(options, project.config)
    complete_journals_of(options, project)
    acts, kept = cleanable(invocation, project, utc_now(), older_than)
    if is_hub_in_use(invocation, project):
        note(
            options, "the Hub's database is in use and was kept; `remora hub stop` stops the daemon"
        )
    shown = remove_all(acts, kept, dry_run=True)
    if dry_run:
        return _print_result(options, shown)
    if acts and not yes and not _confirm_removal(options, shown):
        return 0
    return _print_result(options, remove_all(acts, kept, dry_run=False))


def _confirm_removal(options: Options, shown: "CleanResult") -> bool:
    """Ask the user whether to remove the items. Raises UsageError without a terminal."""
    if options.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            f"{size_text(shown.bytes)} could be freed; nothing was removed",
            hint="use --yes to remove it, --dry-run to list it",
        )
    print_lines(_removal_lines(options, shown))
    return click.confirm(f"free {size_text(shown.bytes)}?")


def _print_result(options: Options, done: "CleanResult") -> int:
    import msgspec

    document = {**msgspec.to_builtins(done), "bytes": done.bytes}
    document["kept"] = [{"run_id": run_id, "reason": reason} for run_id, reason in done.kept]
    emit(options, document, _removal_lines(options, done))
    note(options, *done.problems)
    return 1 if done.problems else 0


def _removal_lines(options: Options, done: "CleanResult") -> Iterator[str]:
    would = "would free" if done.dry_run else "freed"
    for kind, group in groupby(done.removed, key=lambda removable: removable.kind):
        removed = list(group)
        text = count(len(removed), *_KINDS[kind]) if kind in _KINDS else removed[0].name
        yield f"{size_text(sum(removable.bytes for removable in removed)):>10}  {text}"
        if options.verbose or kind == "conflict":  # a conflict file may be the only copy
            yield from (escape_line(f"{'':12}{removable.name}") for removable in removed)
    if options.verbose:
        for run_id, reason in done.kept:
            yield from wrapped(f"kept  {run_id}: {reason}", " " * 6)
    yield f"{would} {size_text(done.bytes)}" if done.removed else "nothing to free"
