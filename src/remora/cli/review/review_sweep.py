"""Implements `accept --repos` and `review --repos`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from remora.bootstrap.open_project import open_project
from remora.bootstrap.sweep.accept_sweep import AcceptedPart, accept_sweep
from remora.bootstrap.sweep.sweep_records import RecordedSweep, read_sweep
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import color_word, emit, note
from remora.cli.review.review_session import Review
from remora.cli.sweep.show_sweep import refuse_root
from remora.config.repository_list import read_repository_list
from remora.errors import RemoraError, UsageError
from remora.runs.records.results import own_run
from remora.runs.review.pending import GroupBy, pending_changes
from remora.text import count, escape_line


def accept(
    options: Options,
    file: Path,
    run: str,
    nodes: Sequence[str],
    git_branch: str | None,
    chosen: dict[str, Any],
) -> int:
    """Accept change sets in all repositories. Return 1 if some could not be accepted."""
    if nodes:
        raise UsageError(
            "NODE cannot be combined with --repos",
            hint="use --all, --rule or --if, or accept in one repository with --root",
        )
    if not (chosen["every"] or chosen["rules"] or chosen["conditions"]):
        raise UsageError("nothing is selected", hint="use --all, --rule or --if")
    parts = []
    for part in accept_sweep(
        invocation_of(options),
        _sweep(options, file, run),
        rules=chosen["rules"],
        only_if=chosen["conditions"],
        git_branch=git_branch,
        trust_run=chosen["trust_run"],
    ):
        parts.append(part)
        for text in part.verdicts.notes if part.verdicts is not None else ():
            note(options, f"{part.name}: {text}")
    emit(options, {"repositories": [_entry(part) for part in parts]}, _lines(parts))
    return 1 if any(_has_failed(part) for part in parts) else 0


def review(options: Options, file: Path, run: str, by: GroupBy, *, trust_run: bool) -> int:
    """Review the pending changes of one repository after the other. Return the exit code."""
    code = 0
    for name, recorded, run_id in _sweep(options, file, run).recorded():
        own = invocation_of(Options(root=recorded.root))
        try:
            project = open_project(own)
            view = own_run(project, run_id, trusted=trust_run)
        except RemoraError as error:
            note(options, f"{name}: {error.message}")
            code = 1
            continue
        pending = len(pending_changes(view, by))
        if not pending:
            continue
        click.echo(click.style(f"══ {name}: {count(pending, 'change set')} ══", bold=True))
        session = Review(Options(root=project.root), project, view, by, trust_run)
        code = max(code, session.go())
        if session.has_quit:
            break
    return code


def _sweep(options: Options, file: Path, run: str) -> RecordedSweep:
    refuse_root(options)
    return read_sweep(invocation_of(options), read_repository_list(file), run)


def _has_failed(part: AcceptedPart) -> bool:
    done = part.verdicts
    return done is None or bool(done.conflicts or done.damaged)


def _entry(part: AcceptedPart) -> dict[str, Any]:
    done = part.verdicts
    return {
        "name": part.name,
        "branch": part.branch,
        "run_id": None if done is None else done.run_id,
        "accepted": [] if done is None else done.accepted,
        "conflicts": [] if done is None else done.conflicts,
        "error": None if part.error is None else part.error.message,
    }


def _lines(parts: Sequence[AcceptedPart]) -> Iterator[str]:
    for part in parts:
        if part.verdicts is None:
            assert part.error is not None
            yield color_word("error") + escape_line(f" {part.name}: {part.error.message}")
            continue
        done = part.verdicts
        where = f" onto {part.branch}" if part.branch else ""
        yield escape_line(f"{part.name}: accepted {count(len(done.accepted), 'change set')}{where}")
        for found in done.conflicts:
            yield escape_line(f"  conflict: {found['path']}: {found['detail']}")
    if not parts:
        yield "no change set is pending"
