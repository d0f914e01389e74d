"""Asks which hunks of a change set to accept."""

import shutil
from collections.abc import Sequence

import click

from remora.cli.app.output import diff_lines, fit_line
from remora.cli.review.key_prompt import QUIT, ask_key
from remora.text import count, escape_line
from remora.workspaces.hunks import ChangeHunk

_QUESTION = "[y]es [n]o [Y/N] the rest too [u]ndo [d]iff [q]uit [?] "
_HELP = {
    "y": "accept this hunk",
    "n": "leave this hunk out",
    "Y": "accept this hunk and all after it",
    "N": "leave out this hunk and all after it",
    "u": "undo: go back to the hunk before",
    "d": "show the whole hunk (in $PAGER if it is long)",
    QUIT: "back to the change; nothing is decided",
}
_WORDS = {"y": "yes", "n": "no", "Y": "yes, all", "N": "no, none", "u": "undo", QUIT: "back"}


def choose_hunks(hunks: Sequence[ChangeHunk]) -> list[int] | None:
    """Ask about each hunk, and return the numbers of those to accept.

    Returns None if the user stops before the last hunk.
    """
    answers: list[bool] = []
    shown = -1
    while len(answers) < len(hunks):
        if shown != len(answers):
            shown = len(answers)
            _show(hunks[shown], len(hunks))
        key = ask_key(_QUESTION)
        click.echo(_WORDS.get(key, ""))
        if key == QUIT:
            return None
        if key == "d":
            show_whole(diff_lines(hunks[shown].diff))
        elif key in _WORDS:
            answers = _answered(answers, key, len(hunks))
        else:
            for each, about in _HELP.items():
                click.echo(f"  {each}  {about}")
    return [each.number for each, chosen in zip(hunks, answers, strict=True) if chosen]


def _answered(answers: list[bool], key: str, of: int) -> list[bool]:
    match key:
        case "y" | "n":
            return [*answers, key == "y"]
        case "Y" | "N":
            return [*answers, *[key == "Y"] * (of - len(answers))]
        case _:
            return answers[:-1]


def show_whole(lines: Sequence[str]) -> None:
    """Print lines, in the user's pager if they do not fit on the screen."""
    if len(lines) > shutil.get_terminal_size().lines:
        click.echo_via_pager("\n".join(lines) + "\n")
    else:
        for line in lines:
            click.echo(line)


def _show(hunk: ChangeHunk, of: int) -> None:
    click.echo(
        click.style(fit_line(escape_line(f"hunk {hunk.number}/{of} {hunk.path}")), bold=True)
    )
    lines = diff_lines(hunk.diff)
    most = 2 * shutil.get_terminal_size().lines
    for line in lines[:most]:
        click.echo(line)
    if len(lines) > most:
        click.echo(click.style(f"… {count(len(lines) - most, 'more line')}: press d", dim=True))
    click.echo()
