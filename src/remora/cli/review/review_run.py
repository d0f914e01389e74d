"""Runs an interactive review of a run, or of all runs of `remora watch`."""

from collections import Counter
from collections.abc import Collection

import click

from remora.cli.app.options import Options
from remora.cli.app.project_context import next_command, project_of
from remora.cli.review.review_session import Review
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import own_run
from remora.runs.records.run_listing import list_run_lines
from remora.runs.review.pending import GroupBy, grouping
from remora.text import count


def review_run(
    options: Options, run: str, by: GroupBy, owners: Collection[str], *, trust_run: bool
) -> int:
    """Show each pending change set of a run, ask for a verdict, and return the exit code."""
    project = project_of(options)
    run_id = run_named(project.trace, run)
    view = own_run(project, run_id, trusted=trust_run)
    review = Review(options, project, view, grouping(project, by, owners), trust_run)
    try:
        review.decide_all()
        _undo_at_end(review)
    finally:
        again = next_command(options, project.root, "review", run_id, *review_options(by, owners))
        sum_up(review.done, review.conflicts, len(review.pending()), again)
    return 1 if review.conflicts else 0


def review_watched(options: Options, by: GroupBy, owners: Collection[str]) -> int:
    """Review the runs of `remora watch` that have pending change sets, oldest first."""
    project = project_of(options)
    group_of = grouping(project, by, owners)
    runs = [line.run_id for line in list_run_lines(project.trace) if line.is_open and line.watched]
    found = (own_run(project, run_id) for run_id in runs)
    reviews = [Review(options, project, view, group_of, trusted=False) for view in found]
    reviews = [review for review in reviews if review.pending()]
    try:
        for number, review in enumerate(reviews):
            review.before = sum(each.decided for each in reviews[:number])
            review.after = sum(len(each.pending()) for each in reviews[number + 1 :])
            review.decide_all()
            if review.has_quit:
                break
        else:
            for last in reviews[-1:]:
                _undo_at_end(last)
    finally:
        done = sum((each.done for each in reviews), Counter[str]())
        again = next_command(
            options, project.root, "review", "--watched", *review_options(by, owners)
        )
        conflicts = sum(each.conflicts for each in reviews)
        sum_up(done, conflicts, sum(len(each.pending()) for each in reviews), again)
    return 1 if any(each.conflicts for each in reviews) else 0


def _undo_at_end(review: Review) -> None:
    """Ask whether to undo the last verdict, and if so, for a new one."""
    before = review.before
    while not review.has_quit and review.asks_to_undo():
        review.before = before + review.decided
        review.decide_all()


def review_options(by: GroupBy, owners: Collection[str]) -> list[str]:
    """Return the options of `review` for these groups and owners."""
    grouped = [] if by == "file" else ["--by", by]
    return [*grouped, *(word for owner in owners for word in ("--owner", owner))]


def sum_up(done: Counter[str], conflicts: int, left: int, again: str) -> None:
    """Print what was decided, and the command `again` if change sets are still pending."""
    told = ", ".join(f"{n} {what}" for what, n in done.items() if n)
    told += f"; {count(conflicts, 'conflict')}" if conflicts else ""
    click.echo(told or "no verdicts")
    if left:
        click.echo(f"{count(left, 'change set')} still pending:")
        click.echo(f"  {again}")
