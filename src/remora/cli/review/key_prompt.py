"""Asks a question at a terminal that is answered with one key."""

import os
import signal

import click

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
