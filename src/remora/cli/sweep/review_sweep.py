"""Implements `sweep review`, `accept`, `reject` and `revert`."""

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from remora.bootstrap.open_project import open_project
from remora.cli.app.options import Options
from remora.cli.app.output import color_word, emit, indented, note, wrapped
from remora.cli.app.project_context import invocation_of
from remora.cli.review.review_run import decide_reviews, note_unread, review_options
from remora.cli.review.review_session import Review
from remora.cli.review.verdicts import conflict_lines, on_branches, skipped_lines
from remora.cli.sweep.show_sweep import open_sweep
from remora.errors import RemoraError, UsageError
from remora.runs.records.results import own_run
from remora.runs.review.pending import GroupBy, grouping
from remora.text import count, escape_line
from remora.usecases.review.chosen import Chosen
from remora.usecases.sweep.sweep_verdicts import SweepPart, accept_sweep, reject_sweep, revert_sweep

_NOTES = 3
"""Maximum number of messages per repository, without -v."""


def accept(options: Options, file: Path, run: str, git_branch: str | None, chosen: Chosen) -> int:
    """Accept change sets in all repositories. Return 1 if some could not be accepted."""
    _require_choice(chosen)
    parts = accept_sweep(invocation_of(options), open_sweep(options, file, run), chosen, git_branch)
    return _print(options, parts, "accepted", lambda part: {"branch": part.branch})


def reject(options: Options, file: Path, run: str, feedback: str | None, chosen: Chosen) -> int:
    """Reject change sets in all repositories. Return 1 if a repository failed."""
    _require_choice(chosen)
    parts = reject_sweep(invocation_of(options), open_sweep(options, file, run), chosen, feedback)
    return _print(options, parts, "rejected")


def revert(options: Options, file: Path, run: str, *, trust_run: bool) -> int:
    """Undo accepted change sets in all repositories. Return 1 if some could not be undone."""
    sweep = open_sweep(options, file, run)
    parts = revert_sweep(invocation_of(options), sweep, trust_run=trust_run)
    return _print(options, parts, "reverted")


def review(
    options: Options, file: Path, run: str, by: GroupBy, owners: Collection[str], *, trust_run: bool
) -> int:
    """Review the pending changes of a sweep, one repository after the other. Return the exit code."""
    sweep = open_sweep(options, file, run)
    reviews: list[Review] = []
    has_failed = False
    for name, failure in sweep.unreadable():
        note(options, f"{name}: {failure.message}")
        has_failed = True
    for name, recorded, run_id in sweep.recorded():
        own = Options(root=recorded.root)
        try:
            project = open_project(invocation_of(own))
            view = own_run(project, run_id, trusted=trust_run)
        except RemoraError as error:
            note(options, f"{name}: {error.message}")
            has_failed = True
            continue
        has_failed |= note_unread(options, view, f"{name}: ")
        reviews.append(Review(own, project, view, grouping(project, by, owners), trust_run, name))
    words = "sweep", "review", str(file), sweep.run_id, *review_options(by, owners)
    return decide_reviews(reviews, shlex.join(["remora", *words])) or int(has_failed)


def _require_choice(chosen: Chosen) -> None:
    if not chosen:
        raise UsageError("nothing is selected", hint="use --all, --rule, --owner or --if")


def _print(
    options: Options,
    parts: Iterable[SweepPart],
    verb: str,
    more: Callable[[SweepPart], Mapping[str, Any]] = lambda _: {},
) -> int:
    """Print what was done in each repository, and return 1 if something failed."""
    found, skipped = [], []
    for part in parts:
        found.append(part)
        skipped += [f"{part.name}: {text}" for text in part.done.skipped] if part.done else []
        for text in part.done.damaged if part.done else ():
            note(options, f"{part.name}: {text}")
        notes = part.done.notes if part.done else []
        for text in notes if options.verbose else notes[:_NOTES]:
            note(options, f"{part.name}: {text}")
        if len(notes) > _NOTES and not options.verbose:
            note(options, f"{part.name}: {len(notes) - _NOTES} more messages; -v shows them")
    note(options, *skipped_lines(options, skipped))
    entries = [{"name": part.name, **more(part), **_entry(part, verb)} for part in found]
    emit(options, {"repositories": entries}, _lines(options, found, verb))
    return 1 if any(_has_failed(part) for part in found) else 0


def _entry(part: SweepPart, verb: str) -> dict[str, Any]:
    return {
        "run_id": getattr(part.done, "run_id", None),
        verb: getattr(part.done, verb, []),
        "conflicts": getattr(part.done, "conflicts", []),
        "error": _reason(part),
    }


def _reason(part: SweepPart) -> str | None:
    if part.missing is not None:
        return f"{part.missing} does not exist"
    error = part.error if part.done is None else part.done.error
    return None if error is None else error.message


def _has_failed(part: SweepPart) -> bool:
    if part.done is None:
        return part.error is not None
    return bool(part.done.conflicts or part.done.damaged or part.done.error)


def _lines(options: Options, parts: Sequence[SweepPart], verb: str) -> Iterator[str]:
    for part in parts:
        if part.done is None:
            word = "missing" if part.missing else "error"
            first, *more = wrapped(f"{word} {part.name}: {_reason(part)}")
            yield from (color_word(word) + first.removeprefix(word), *more)
            continue
        where = f" onto {part.branch}" if part.branch else ""
        number = count(len(getattr(part.done, verb)), "change")
        yield from wrapped(f"{part.name}: {verb} {number}{where}")
        if verb == "reverted" and not part.done.reverted and (text := on_branches(part.done.view)):
            yield from indented(text, "  ")
        if part.project is not None:
            yield from (f"  {line}" for line in conflict_lines(options, part.project, part.done))
        else:
            for found in part.done.conflicts:
                yield escape_line(f"  conflict: {found['path']}: {found['detail']}")
        if part.done.error is not None:
            yield f"  {color_word('error')}: " + escape_line(part.done.error.message)
    if not parts:
        yield f"no change was {verb}"
