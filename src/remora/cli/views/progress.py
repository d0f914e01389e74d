"""Shows the progress of a run, as a live display on a terminal and as plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from remora.agents.job import AgentResult, Job
from remora.cli.app.options import Options
from remora.cli.views.live_display import RunCounts
from remora.ids import display_name
from remora.runs.records.findings import done_text
from remora.statuses import status_text
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.runs.review.accept_and_reject import TrackProgress


class LineProgress(RunCounts):
    """Prints to stderr what judges the changes, and if `jobs` is True, a line for each ended job.

    Each check of the project and each error is printed only once.
    """

    def __init__(self, *, jobs: bool = True) -> None:
        super().__init__()
        self._shows_jobs, self._printed = jobs, {""}

    def judging(self, gate: str) -> None:
        super().judging(gate)
        if self.gate not in self._printed:
            self._printed.add(self.gate)
            click.echo(escape_line(self.gate), err=True)

    def ended(self, job: Job, result: AgentResult) -> None:
        super().ended(job, result)
        if not self._shows_jobs:
            return
        width = len(str(self.jobs))
        node = display_name(job.node_id)
        work = done_text(*self.fixed_by(job, result)) or count(result.counts.turns, "turn")
        parts = [work]
        if result.error:
            told = result.error in self._printed
            parts.append("for the same reason" if told else result.error)
            self._printed.add(result.error)
        state = status_text(result.status)
        head = f"[{self.done:>{width}}/{self.jobs}] {state:<9} {job.operation} {node}"
        click.echo(escape_line(f"{head}  {', '.join(parts)}"), err=True)


@contextmanager
def run_progress(options: Options, *, jobs: bool = True) -> Iterator[RunCounts]:
    """Yield an observer that shows a live display, prints lines, or is silent.

    The choice depends on `--quiet`, and on whether stderr is a terminal. Lines for jobs are left
    out unless `jobs` is True.
    """
    if options.quiet:
        yield RunCounts()
    elif not sys.stderr.isatty():
        yield LineProgress(jobs=jobs)
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
