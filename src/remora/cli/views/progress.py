"""Shows the progress of a run, as a live display on a terminal and as plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from remora.agents.job import AgentResult, Job
from remora.cli.app.options import Options
from remora.cli.views.job_view import done_text
from remora.cli.views.run_counts import RunCounts
from remora.ids import display_name
from remora.statuses import status_text
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.runs.review.accept_and_reject import TrackProgress


class LineProgress(RunCounts):
    """Prints a line to stderr for each finished job, and each error only once."""

    def __init__(self) -> None:
        super().__init__()
        self._errors = set[str]()

    def ended(self, job: Job, result: AgentResult) -> None:
        super().ended(job, result)
        width = len(str(self.jobs))
        node = display_name(job.node_id)
        work = done_text(*self.fixed_by(job, result)) or count(result.turns, "turn")
        parts = [work]
        if result.error:
            told = result.error in self._errors
            parts.append("for the same reason" if told else result.error)
            self._errors.add(result.error)
        state = status_text(result.status)
        head = f"[{self.done:>{width}}/{self.jobs}] {state:<9} {job.operation} {node}"
        click.echo(escape_line(f"{head}  {', '.join(parts)}"), err=True)


@contextmanager
def run_progress(options: Options) -> Iterator[RunCounts]:
    """Yield an observer that shows a live display, prints lines, or is silent.

    The choice depends on `--quiet`, and on whether stderr is a terminal.
    """
    if options.quiet:
        yield RunCounts()
    elif not sys.stderr.isatty():
        yield LineProgress()
    else:
        from remora.cli.views.live_display import live_display

        with live_display() as display:
            yield display


@contextmanager
def accept_progress(options: Options) -> Iterator["TrackProgress"]:
    """Yield a tracker for `accept` that shows a bar on a terminal."""
    if options.quiet or options.json or not sys.stderr.isatty():
        yield iter
        return
    from remora.cli.views.live_display import accept_bar

    with accept_bar() as shown:
        yield shown
