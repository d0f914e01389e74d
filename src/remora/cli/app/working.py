"""Shows on a terminal that a command is working, also while modules are imported."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def working(options: Options, what: str) -> Iterator[Callable[[str], None]]:
    """Show what is done, and the time that it takes, on a terminal until the block exits.

    The block gets a function that changes what is shown.
    """
    if options.quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=error_console(), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda now: bar.update(task, description=now)


def error_console() -> "Console":
    """Return a console for stderr, without colors if they are disabled."""
    from rich.console import Console

    context = click.get_current_context(silent=True)
    return Console(stderr=True, no_color=context is not None and context.color is False)
