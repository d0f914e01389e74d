"""Progress bars on a terminal, drawn with rich."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from remora.agents.job import AgentResult, Job
from remora.cli.app.working import error_console
from remora.cli.views.run_counts import RunCounts
from remora.ids import display_name
from remora.runs.review.accept_and_reject import TrackProgress
from remora.runs.review.ready_changes import ReadyChange
from remora.text import count, escape_line


class LiveDisplay(RunCounts):
    """A progress bar with counts and the current nodes, or what judges the changes, redrawn several times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = Progress(*_columns(""))
        self._task = self._bar.add_task("", total=None)
        text = TextColumn("{task.description}", markup=False, table_column=Column())
        self._checks = Progress(SpinnerColumn(), text, TimeElapsedColumn())
        self._check = self._checks.add_task("", total=None)

    def expect(self, jobs: int) -> None:
        """Set the length of the progress bar."""
        super().expect(jobs)
        self._bar.update(self._task, total=self.jobs)

    def ended(self, job: Job, result: AgentResult) -> None:
        super().ended(job, result)
        self._bar.update(self._task, completed=self.done)

    def __rich__(self) -> Group:
        counted = (
            (self.requests, "request"),
            (self.tokens, "token"),
            (self.fixed, "finding"),
            (self.written, "other change"),
        )
        counts = " · ".join(count(number, noun) for number, noun in counted if number)
        names = [display_name(job.node_id) for job in self.working.values()]
        nodes = [_one_line(f"  {escape_line(name)}", "dim") for name in names]
        gate = escape_line(self.gate)
        if gate != self._checks.tasks[0].description:
            self._checks.reset(self._check, description=gate)
        if gate and not self.working:
            return Group(self._checks, _one_line(counts))
        return Group(*([self._bar] if self.jobs else []), _one_line(counts), *nodes)


def _columns(what: str) -> tuple[ProgressColumn, ...]:
    named = [TextColumn(what)] if what else []
    times = TimeElapsedColumn(), TimeRemainingColumn()
    return (*named, BarColumn(), MofNCompleteColumn(), *times)


def _one_line(text: str, style: str = "") -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")


@contextmanager
def live_display() -> Iterator[LiveDisplay]:
    """Show a run's progress on stderr until the block exits."""
    display = LiveDisplay()
    with Live(display, console=error_console(), transient=True, refresh_per_second=8):
        yield display


@contextmanager
def accept_bar() -> Iterator[TrackProgress]:
    """Show a progress bar of processed change sets on stderr until the block exits."""
    bar = Progress(*_columns("changes"), console=error_console(), transient=True)
    with bar:
        task = bar.add_task("changes", total=None)

        def pace(usable: Sequence[ReadyChange]) -> Iterator[ReadyChange]:
            bar.update(task, total=len(usable))
            for each in usable:
                yield each
                bar.advance(task)

        yield pace
