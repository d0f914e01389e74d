"""Progress of a run: a live display on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from remora.agents.job import AgentResult, Job
from remora.cli.app.options import Options
from remora.cli.app.output import count
from remora.cli.views.job_view import done_text, status_word
from remora.cli.views.run_counts import Count
from remora.text import plain

if TYPE_CHECKING:
    from remora.runs.review.review import Pace


class Lines(Count):
    """One line on stderr for each job that ended."""

    def ended(self, job: Job, result: AgentResult) -> None:
        """Print it."""
        super().ended(job, result)
        width = len(str(self.jobs))
        node = job.node_id.removeprefix("node:")
        told = done_text(*self.fixed_by(job, result)) or count(result.turns, "turn")
        parts = [told, result.error] if result.error else [told]
        state = status_word(result.status)
        head = f"[{self.done:>{width}}/{self.jobs}] {state:<9} {job.operation} {node}"
        click.echo(plain(f"{head}  {', '.join(parts)}"), err=True)


@contextmanager
def watching(options: Options) -> Iterator[Count]:
    """Yield the observer that suits stderr: silent, line by line, or a live display."""
    if options.quiet:
        yield Count()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from remora.cli.views.live_display import live_display

        with live_display() as display:
            yield display


@contextmanager
def accepting(options: Options) -> Iterator["Pace"]:
    """Yield a progress bar for an accept on a terminal, nothing elsewhere."""
    if options.quiet or options.json or not sys.stderr.isatty():
        yield iter
        return
    from remora.cli.views.live_display import accept_bar

    with accept_bar() as pace:
        yield pace
