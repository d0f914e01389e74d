"""Goes through the parts of a review, and back to those whose verdict is undone."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import click

from remora.cli.app.output import print_error
from remora.cli.review.key_prompt import ask_key
from remora.cli.review.review_history import ReviewHistory, ReviewStep
from remora.cli.review.review_session import Review
from remora.errors import RemoraError


class ReviewPart(NamedTuple):
    """A run, or one of its groups if `only` is not None.

    `begin` prints a heading and sets the position in the review. It is called again if the user
    goes back to the part.
    """

    review: Review
    begin: Callable[[], None]
    only: str | None = None


def decide_parts(parts: Iterable[ReviewPart], history: ReviewHistory) -> None:
    """Review parts one after the other, until the user quits. At the end, undo is offered."""
    begun: list[ReviewPart] = []
    for part in parts:
        begun.append(part)
        if not _decide(part, begun, history):
            return
    while (step := _ask_to_undo(history)) is not None:
        if not _decide(_part_of(step, begun), begun, history):
            return


def _decide(part: ReviewPart, begun: list[ReviewPart], history: ReviewHistory) -> bool:
    """Review a part, and others in which a verdict is undone. Return False if the user quits."""
    waiting = [part]
    while waiting:
        part = waiting[-1]
        if not part.review.ahead(part.only):
            waiting.pop()
            continue
        part.begin()
        part.review.decide_all(part.only)
        if part.review.has_quit:
            return False
        if (step := history.take_undone()) is not None:
            waiting.append(_part_of(step, begun))
    return True


def _part_of(step: ReviewStep, begun: Iterable[ReviewPart]) -> ReviewPart:
    return next(part for part in begun if part.review is step.review and part.only == step.only)


def _ask_to_undo(history: ReviewHistory) -> ReviewStep | None:
    """Ask whether to undo the last step. Return it if it was undone."""
    if not history.steps:
        return None
    try:
        key = ask_key("Nothing is left to decide. [u]ndo [q]uit ").lower()
        click.echo("undo" if key == "u" else "")
        return history.undo() if key == "u" else None
    except KeyboardInterrupt:
        click.echo("")
        raise
    except RemoraError as error:
        print_error(error.code, error.message, error.hint, as_json=False)
        return None
