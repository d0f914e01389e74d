"""Runs an interactive review of a run."""

import click

from remora.cli.app.options import Options
from remora.cli.app.output import note, print_failure
from remora.cli.app.project_context import next_command, project_of
from remora.cli.review.questions import ask_key
from remora.cli.review.review_session import Review
from remora.errors import RemoraError
from remora.ids import display_name
from remora.runs.records.name_lookup import run_named
from remora.runs.records.results import own_run
from remora.runs.review.pending import GroupBy
from remora.text import count


def review_run(options: Options, run: str, by: GroupBy, *, trust_run: bool) -> int:
    """Show each pending change of a run, ask for a verdict, and return the exit code."""
    project = project_of(options)
    run_id = run_named(project.trace, run)
    view = own_run(project, run_id, trusted=trust_run)
    for job in view.damaged:
        note(options, f"{display_name(job.node_id)} is left out: {job.outcome.error}")
    review = Review(options, project, view, by, trust_run)
    grouped = [] if by == "file" else ["--by", by]
    try:
        _decide_changes(review)
    finally:
        _print_summary(review, next_command(options, project.root, "review", run_id, *grouped))
    return int(bool(review.conflicts or view.damaged))


def _decide_changes(review: Review) -> None:
    """Review until the user quits. An undo is also offered at the end."""
    while True:
        review.decide_all()
        if review.has_quit or not review.steps:
            return
        wants_undo = ask_key("That was the last change. [u]ndo [q]uit ").lower() == "u"
        click.echo("undo" if wants_undo else "")
        try:
            if not wants_undo or not review.take_back():
                return
        except RemoraError as error:
            print_failure(error)
            return


def _print_summary(review: Review, again: str) -> None:
    """Print what was decided, and the command `again` if changes are still pending."""
    numbers = [f"{number} {what}" for what, number in review.done.items() if number]
    numbers += [count(review.conflicts, "conflict")] if review.conflicts else []
    click.echo(", ".join(numbers) or "no verdicts")
    if left := len(review.pending()):
        click.echo(f"{count(left, 'change')} still pending:")
        click.echo(f"  {again}")
