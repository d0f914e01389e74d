"""The live display of a run on a terminal."""

from rich.console import Group
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from remora.cli.views.progress import RunCounts
from remora.ids import display_name
from remora.text import count, escape_line


class LiveDisplay(RunCounts):
    """A progress bar with counts and the current nodes, or what judges the changes."""

    def __init__(self) -> None:
        super().__init__()
        columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        self._bar = Progress(*columns)
        self._task = self._bar.add_task("", total=None)
        text = TextColumn("{task.description}", markup=False, table_column=Column())
        self._checks = Progress(SpinnerColumn(), text, TimeElapsedColumn())
        self._check = self._checks.add_task("", total=None)

    def __rich__(self) -> Group:
        self._bar.update(self._task, total=self.jobs or None, completed=self.done)
        counted = (
            (self.requests, "request"),
            (self.tokens, "token"),
            (self.fixed, "finding"),
            (self.other_changes, "other change"),
        )
        counts = " · ".join(count(number, noun) for number, noun in counted if number)
        names = [display_name(job.node_id) + self.waiting(job) for job in [*self.working.values()]]
        nodes = [_one_line(f"  {escape_line(name)}", "dim") for name in names]
        check_text = escape_line(self.check_text)
        if check_text != self._checks.tasks[0].description:
            self._checks.reset(self._check, description=check_text)
        if check_text and not self.working:
            return Group(self._checks, _one_line(counts))
        return Group(*([self._bar] if self.jobs else []), _one_line(counts), *nodes)


def _one_line(text: str, style: str = "") -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")
