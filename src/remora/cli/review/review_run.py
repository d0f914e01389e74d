"""Runs an interactive review of a run, or of all runs of `remora watch`."""

from collections import Counter
from collections.abc import Collection, Sequence

import click

from remora.cli.app.options import Options
from remora.cli.app.output import note, print_failure
from remora.cli.app.project_context import next_command, project_of
from remora.cli.review.questions import ask_key
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
    """Show each pending change of a run, ask for a verdict, and return the exit code."""
    project = project_of(options)
    run_id = run_named(project.trace, run)
    view = own_run(project, run_id, trusted=trust_run)
    has_failed = note_unread(options, view)
    review = Review(options, project, view, grouping(project, by, owners), trust_run)
    again = next_command(options, project.root, "review", run_id, *review_options(by, owners))
    return decide_reviews([review], again) or int(has_failed)


def review_watched(options: Options, by: GroupBy, owners: Collection[str]) -> int:
    """Review the runs of `remora watch` that have pending changes, oldest first.

    Runs and streams that cannot be read are reported, and the exit code is 1.
    """
    project = project_of(options)
    group_of = grouping(project, by, owners)
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
        reviews.append(Review(options, project, view, group_of, False))
    again = next_command(options, project.root, "review", "--watched", *review_options(by, owners))
    return decide_reviews(reviews, again) or int(has_failed)


def note_unread(options: Options, view: RunView) -> bool:
    """Report the jobs whose streams cannot be read. Return True if there are any."""
    for job in view.damaged:
        note(options, f"{display_name(job.node_id)} is left out: {job.error}")
    return bool(view.damaged)


def decide_reviews(reviews: Sequence[Review], again: str) -> int:
    """Go through reviews until the user quits, and sum them up. Return 1 after a conflict.

    The command `again` continues them. An undo leads back to an earlier review, also at the end.
    """
    place = 0
    try:
        while place < len(reviews):
            review = reviews[place]
            review.decide_all()
            if review.has_quit:
                break
            place += not review.goes_back
            decided = [n for n, each in enumerate(reviews[: place + 1]) if each.steps]
            if review.goes_back and not decided:
                click.echo("  nothing to undo: this review has not decided anything yet")
            elif review.goes_back or (place == len(reviews) and decided and _wants_undo()):
                place = decided[-1] if _take_back(reviews[decided[-1]]) else place
    finally:
        _sum_up(reviews, again)
    return int(any(review.conflicts for review in reviews))


def _wants_undo() -> bool:
    key = ask_key("That was the last change. [u]ndo [q]uit ").lower()
    click.echo("undo" if key == "u" else "")
    return key == "u"


def _take_back(review: Review) -> bool:
    try:
        return review.take_back()
    except RemoraError as error:
        print_failure(error)
        return False


def review_options(by: GroupBy, owners: Collection[str]) -> list[str]:
    """Return the options of `review` for these groups and owners."""
    grouped = [] if by == "file" else ["--by", by]
    return [*grouped, *(word for owner in owners for word in ("--owner", owner))]


def _sum_up(reviews: Sequence[Review], again: str) -> None:
    """Print what was decided, and the command `again` if changes are still pending."""
    done = sum((review.done for review in reviews), Counter[str]())
    conflicts = sum(review.conflicts for review in reviews)
    left = sum(len(review.pending()) for review in reviews)
    numbers = [f"{n} {what}" for what, n in done.items() if n]
    numbers += [count(conflicts, "conflict")] if conflicts else []
    click.echo(", ".join(numbers) or "no verdicts")
    if left:
        click.echo(f"{count(left, 'change')} still pending:")
        click.echo(f"  {again}")
