"""Shows on a terminal that a command is working, and how much is done."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options

if TYPE_CHECKING:
    from rich.console import Console

    from remora.runs.review.accepted_changes import TrackProgress
    from remora.runs.review.ready_changes import ReadyChange


_PRINT_EACH_S = 15.0
"""Seconds between two lines (decision: silence of half a minute looks like a hanging command)."""


@contextmanager
def working(options: Options, what: str) -> Iterator[Callable[[str], None]]:
    """Show what is done, and the time that it takes, until the block exits.

    The block gets a function that changes what is shown. Without a terminal, a line is printed each
    time that the work has taken long.
    """
    if options.quiet:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        with _printed(what) as tell:
            yield tell
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    is_terminal = sys.stdout.isatty()  # the output goes above the bar only where both are shown
    with Progress(
        *columns, console=error_console(), transient=True, redirect_stdout=is_terminal
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda now: bar.update(task, description=now)


@contextmanager
def _printed(what: str) -> Iterator[Callable[[str], None]]:
    shown, has_ended, begun = [what], Event(), time.monotonic()

    def print_often() -> None:
        while not has_ended.wait(_PRINT_EACH_S):
            seconds = f"{time.monotonic() - begun:.0f} s"
            print(f"still working: {shown[-1]} ({seconds})", file=sys.stderr, flush=True)

    thread = Thread(target=print_often, daemon=True)
    thread.start()
    try:
        yield shown.append
    finally:
        has_ended.set()
        thread.join()


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
