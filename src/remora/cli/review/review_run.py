"""Runs an interactive review of a run, or of all runs of `remora watch`."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial

import click

from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.cli.app.project_context import next_command, project_of
from remora.cli.review.review_history import ReviewHistory
from remora.cli.review.review_sequence import ReviewPart, decide_parts
from remora.cli.review.review_session import Review
from remora.errors import RemoraError
from remora.ids import display_name
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import RunView, own_run
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
    has_failed = note_unread(options, view)
    review = Review(options, project, view, grouping(project, by, owners), trust_run)
    again = next_command(options, project.root, "review", run_id, *review_options(by, owners))
    _decide([review], review.history, again)
    return 1 if has_failed or review.conflicts else 0


def review_watched(options: Options, by: GroupBy, owners: Collection[str]) -> int:
    """Review the runs of `remora watch` that have pending change sets, oldest first.

    Runs and streams that cannot be read are reported, and the exit code is 1.
    """
    project = project_of(options)
    group_of = grouping(project, by, owners)
    history = ReviewHistory()
    reviews: list[Review] = []
    has_failed = False
    for line in list_run_lines(project.trace):
        if not line.watched or not line.is_open:
            continue
        try:
            view = own_run(project, line.run_id)
        except RemoraError as error:
            note(options, f"run {line.run_id} is left out: {error.with_hint}")
            has_failed = True
            continue
        has_failed |= note_unread(options, view)
        reviews.append(Review(options, project, view, group_of, False, history))
    again = next_command(options, project.root, "review", "--watched", *review_options(by, owners))
    _decide(reviews, history, again)
    return 1 if has_failed or any(each.conflicts for each in reviews) else 0


def note_unread(options: Options, view: RunView, repository: str = "") -> bool:
    """Report the jobs whose streams cannot be read. Return True if there are any."""
    for job in view.damaged:
        note(options, f"{repository}{display_name(job.node_id)} is left out: {job.error}")
    return bool(view.damaged)


def _decide(reviews: Sequence[Review], history: ReviewHistory, again: str) -> None:
    """Go through reviews of one project, and sum them up."""
    try:
        decide_parts(
            [ReviewPart(review, partial(_begin, review, reviews)) for review in reviews], history
        )
    finally:
        sum_up(
            sum((each.done for each in reviews), Counter[str]()),
            sum(each.conflicts for each in reviews),
            sum(len(each.pending()) for each in reviews),
            again,
        )


def _begin(review: Review, reviews: Sequence[Review]) -> None:
    review.group = None
    review.before = sum(each.decided for each in reviews)
    review.after = sum(len(each.ahead()) for each in reviews if each is not review)


def review_options(by: GroupBy, owners: Collection[str]) -> list[str]:
    """Return the options of `review` for these groups and owners."""
    grouped = [] if by == "file" else ["--by", by]
    return [*grouped, *(word for owner in owners for word in ("--owner", owner))]


def sum_up(done: Counter[str], conflicts: int, left: int, again: str) -> None:
    """Print what was decided, and the command `again` if change sets are still pending."""
    verdicts = ", ".join(f"{n} {what}" for what, n in done.items() if n)
    verdicts += f"; {count(conflicts, 'conflict')}" if conflicts else ""
    click.echo(verdicts or "no verdicts")
    if left:
        click.echo(f"{count(left, 'change set')} still pending:")
        click.echo(f"  {again}")
