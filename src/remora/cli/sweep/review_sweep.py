"""Implements `sweep review`, `accept`, `reject` and `revert`."""

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click

from remora.bootstrap.open_project import open_project
from remora.cli.app.invocation import invocation_of
from remora.cli.app.options import Options
from remora.cli.app.output import color_word, emit, note
from remora.cli.review.review_history import ReviewHistory
from remora.cli.review.review_run import note_unread, review_options, sum_up
from remora.cli.review.review_sequence import ReviewPart, decide_parts
from remora.cli.review.review_session import Review
from remora.cli.review.verdicts import (
    conflict_lines,
    on_branches,
    skipped_lines,
)
from remora.cli.sweep.show_sweep import refuse_root
from remora.config.repository_list import read_repository_list
from remora.errors import RemoraError, UsageError
from remora.runs.records.results import own_run
from remora.runs.review.pending import GroupBy, grouping
from remora.runs.review.review import Verdicts
from remora.text import count, escape_line
from remora.usecases.api_arguments import Chosen
from remora.usecases.sweep.sweep_records import RecordedSweep, read_sweep
from remora.usecases.sweep.sweep_verdicts import (
    SweepPart,
    accept_sweep,
    reject_sweep,
    revert_sweep,
)

_NOTES = 3
"""Maximum number of messages per repository, without -v."""


def accept(
    options: Options,
    file: Path,
    run: str,
    git_branch: str | None,
    chosen: Chosen,
) -> int:
    """Accept change sets in all repositories. Return 1 if some could not be accepted."""
    _require_choice(chosen)
    parts = accept_sweep(invocation_of(options), _sweep(options, file, run), chosen, git_branch)
    return _print(options, parts, "accepted", lambda part: {"branch": part.branch})


def reject(
    options: Options,
    file: Path,
    run: str,
    feedback: str | None,
    chosen: Chosen,
) -> int:
    """Reject change sets in all repositories. Return 1 if a repository failed."""
    _require_choice(chosen)
    parts = reject_sweep(invocation_of(options), _sweep(options, file, run), chosen, feedback)
    return _print(options, parts, "rejected")


def revert(options: Options, file: Path, run: str, *, trust_run: bool) -> int:
    """Undo accepted change sets in all repositories. Return 1 if some could not be undone."""
    sweep = _sweep(options, file, run)
    parts = revert_sweep(invocation_of(options), sweep, trust_run=trust_run)
    return _print(options, parts, "reverted")


def review(
    options: Options,
    file: Path,
    run: str,
    by: GroupBy,
    owners: Collection[str],
    *,
    trust_run: bool,
) -> int:
    """Review the pending changes of a sweep. Return the exit code.

    Groups by file belong to one repository, and other groups go across the repositories.
    """
    sweep = _sweep(options, file, run)
    found = _SweepReview(options, sweep, by, owners, trust_run)
    try:
        decide_parts(found.parts(), found.history)
    finally:
        found.sum_up(["remora", "sweep", "review", str(file), sweep.run_id])
    incomplete = found.failed or found.is_incomplete
    return 1 if incomplete or any(part.conflicts for _, part in found.opened) else 0


@dataclass(eq=False)
class _SweepReview:
    """The repositories under review.

    `looked_at` contains the names of the repositories that were opened, `opened` those with pending
    changes, and `failed` those that could not be opened. `group` is the group whose heading was
    printed last. `is_incomplete` is True if an agent's stream could not be read.
    """

    options: Options
    sweep: RecordedSweep
    by: GroupBy
    owners: Collection[str]
    trusted: bool
    history: ReviewHistory = field(default_factory=ReviewHistory)
    opened: list[tuple[str, Review]] = field(default_factory=list)
    looked_at: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    group: str | None = None
    is_incomplete: bool = False

    def parts(self) -> Iterator[ReviewPart]:
        """Yield what to review next: a repository, or a group in a repository.

        The group with the most change sets comes first.
        """
        if self.by == "file":
            for name, part in self._open():
                number = len(self.looked_at) + len(self.failed)
                of = count(number + self._unopened, "repository", "repositories")
                yield ReviewPart(part, partial(self._begin, f"{name} ({number} of {of})", part))
            return
        sizes = Counter(group for _, part in self._open() for group, _ in part.pending())
        for group in sorted(sizes, key=lambda group: (-sizes[group], group)):
            for name, part in self.opened:
                yield ReviewPart(part, partial(self._begin, name, part, group), group)

    def _begin(self, name: str, part: Review, group: str | None = None) -> None:
        """Print the heading of a repository, or of a group in it, and set the position."""
        if group != self.group and group is not None:
            click.echo(click.style(escape_line(f"── {group} ──"), fg="cyan"))
        number = count(len(part.ahead(group)), "change set")
        click.echo(click.style(escape_line(f"══ {name}: {number} ══"), bold=True))
        self.group = part.group = group
        if group is None:  # the others are not opened yet
            part.before, part.after = part.decided, 0
        else:
            every = [each for _, each in self.opened]
            part.before = sum(each.decided for each in every)
            part.after = sum(len(each.ahead()) for each in every) - len(part.ahead(group))

    @property
    def _unopened(self) -> int:
        recorded = len([*self.sweep.recorded()]) + len([*self.sweep.unreadable()])
        return recorded - len(self.looked_at) - len(self.failed)

    def sum_up(self, command: Sequence[str]) -> None:
        done: Counter[str] = Counter()
        for _, part in self.opened:
            done.update(part.done)
        conflicts = sum(part.conflicts for _, part in self.opened)
        left = sum(len(part.pending()) for _, part in self.opened)
        sum_up(done, conflicts, left, shlex.join([*command, *review_options(self.by, self.owners)]))
        if others := self._unopened:
            note(self.options, f"not opened: {count(others, 'repository', 'repositories')}")

    def _open(self) -> Iterator[tuple[str, Review]]:
        """Yield the repositories that have pending changes."""
        for name, failure in self.sweep.unreadable():
            note(self.options, f"{name}: {failure.message}")
            self.failed.append(name)
        for name, recorded, run_id in self.sweep.recorded():
            try:
                project = open_project(invocation_of(Options(root=recorded.root)))
                view = own_run(project, run_id, trusted=self.trusted)
            except RemoraError as error:
                note(self.options, f"{name}: {error.message}")
                self.failed.append(name)
                continue
            group_of = grouping(project, self.by, self.owners)
            self.looked_at.append(name)
            self.is_incomplete |= note_unread(self.options, view, f"{name}: ")
            own = Options(root=project.root)
            part = Review(own, project, view, group_of, self.trusted, self.history)
            if part.pending():
                self.opened.append((name, part))
                yield name, part


def _sweep(options: Options, file: Path, run: str) -> RecordedSweep:
    refuse_root(options)
    return read_sweep(invocation_of(options), read_repository_list(file), run)


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
        skipped += [f"{part.name}: {text}" for text in getattr(part.done, "skipped", ())]
        for text in getattr(part.done, "damaged", ()):
            note(options, f"{part.name}: {text}")
        notes = getattr(part.done, "notes", [])
        for text in notes if options.verbose else notes[:_NOTES]:
            note(options, f"{part.name}: {text}")
        if len(notes) > _NOTES and not options.verbose:
            note(options, f"{part.name}: {len(notes) - _NOTES} more messages; -v shows them")
    for text in skipped_lines(options, skipped):
        note(options, text)
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
            word = "missing" if part.missing else color_word("error")
            yield word + escape_line(f" {part.name}: {_reason(part)}")
            continue
        where = f" onto {part.branch}" if part.branch else ""
        number = count(len(getattr(part.done, verb)), "change set")
        yield escape_line(f"{part.name}: {verb} {number}{where}")
        branches = getattr(part.done, "branches", ())
        if branches and not getattr(part.done, verb):
            yield f"  {on_branches(branches)}"
        if part.project is not None and isinstance(part.done, Verdicts):
            yield from (f"  {line}" for line in conflict_lines(options, part.project, part.done))
        else:
            for found in part.done.conflicts:
                yield escape_line(f"  conflict: {found['path']}: {found['detail']}")
        if part.done.error is not None:
            yield f"  {color_word('error')}: " + escape_line(part.done.error.message)
    if not parts:
        yield f"no change set was {verb}"
