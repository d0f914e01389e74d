"""Questions to a reviewer: one that a key answers, and which hunks of a change to accept."""

import os
import shutil
import signal
from collections.abc import Sequence
from itertools import chain

import click

from remora.cli.app.output import fit_line, print_lines
from remora.cli.views.diff_view import styled_lines
from remora.text import escape_line
from remora.workspaces.hunks import ChangeHunk, group_text, separate_hunks

QUIT = "q"
_END_OF_INPUT = ("\x04", "")
_SUSPEND = "\x1a"


def ask_key(question: str) -> str:
    """Print a question and return the key that answers it. The end of the input counts as `q`.

    If the user suspends the process, the question is asked again when it continues.
    """
    while True:
        click.echo(click.style(question, bold=True), nl=False)
        try:
            key = click.getchar()
        except EOFError:
            return QUIT
        except KeyboardInterrupt:
            click.echo()
            raise
        if key != _SUSPEND:
            return QUIT if key in _END_OF_INPUT else key
        click.echo()
        os.kill(0, signal.SIGTSTP)  # the shell's `fg` continues here


def choose_hunks(hunks: Sequence[ChangeHunk]) -> list[int]:
    """Show the groups of hunks, and return the numbers of the hunks that the user chose."""
    groups = {str(number): group for number, group in enumerate(separate_hunks(hunks), 1)}
    for number, group in groups.items():
        heading = fit_line(escape_line(f"{number}: {group[0].path}: {group_text(group)}"))
        click.echo(click.style(heading, bold=True))
        print_lines(chain.from_iterable(styled_lines(hunk.diff) for hunk in group))
    while True:
        words = click.prompt(
            "  accept (rejects the others), e.g. 1 3", default="", show_default=False
        ).split()
        if groups.keys() >= {*words}:
            return sorted(hunk.number for word in {*words} for hunk in groups[word])
        click.echo(f"  use numbers from 1 to {len(groups)}; press Enter to go back")


def show_whole(lines: Sequence[str]) -> None:
    """Print lines, in the user's pager if they do not fit on the screen."""
    if len(lines) > shutil.get_terminal_size().lines:
        click.echo_via_pager("\n".join(lines) + "\n")
    else:
        print_lines(lines)
