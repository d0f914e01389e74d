"""Shows on a terminal that a command is working, and how much is done."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options

if TYPE_CHECKING:
    from rich.console import Console

    from remora.runs.review.accepted_changes import TrackProgress
    from remora.runs.review.ready_changes import ReadyChange


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


@contextmanager
def progress_bar(options: Options, what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how much is done, on a terminal until the block exits.

    The block gets a function that takes the number of finished items and the total. The bar appears
    with its first call, and goes when all are finished.
    """
    if options.quiet or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=error_console(), transient=True)
    task = bar.add_task(what, total=None)

    def show(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)
        if done == total:
            bar.stop()

    try:
        yield show
    finally:
        bar.stop()


@contextmanager
def accept_progress(options: Options) -> Iterator["TrackProgress"]:
    """Yield a tracker for `accept` that shows a bar on a terminal."""
    with progress_bar(options, "changes") as show:

        def track(usable: Sequence["ReadyChange"]) -> Iterator["ReadyChange"]:
            show(0, len(usable))
            for number, change in enumerate(usable, 1):
                yield change
                show(number, len(usable))

        yield track


def error_console() -> "Console":
    """Return a console for stderr, without colors if they are disabled."""
    from rich.console import Console

    context = click.get_current_context(silent=True)
    return Console(stderr=True, no_color=context is not None and context.color is False)
