"""Progress bars on a terminal, drawn with rich, and the counts that they show."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
from remora.agents.loop.stop_rules import sent_tokens
from remora.cli.app.working import error_console
from remora.ids import display_name
from remora.memory.events import Event, ModelRequest
from remora.operations.base import Codes, is_lint_code
from remora.runs.records.findings import fixed, known_findings
from remora.runs.review.accept_and_reject import TrackProgress
from remora.runs.review.ready_changes import ReadyChange
from remora.statuses import VERIFIED
from remora.text import count, escape_line

if TYPE_CHECKING:
    from remora.runs.planning.plan import Plan


class RunCounts:
    """An observer that counts what happens in a run. It does not print anything."""

    def __init__(self) -> None:
        self.jobs = 0
        self.done = 0
        self.requests = 0
        self.tokens = 0
        self.fixed = 0
        self.written = 0
        self.gate = ""
        self.working: dict[str, Job] = {}
        self.asked: dict[str, tuple[int, float]] = {}
        self._findings: dict[str, tuple[Codes, Codes]] = {}

    def planned(self, run_id: str, plan: "Plan") -> None:  # noqa: ARG002 (signature of RunObserver)
        self.jobs = len(plan.jobs)

    def began(self, job: Job) -> None:
        self.working[job.agent_id] = job

    def event(self, job: Job, event: Event) -> None:
        """Count requests and tokens sent to the model, and findings reported by scripts."""
        self.asked.pop(job.agent_id, None)
        if event.type == ModelRequest.type:
            self.requests += 1
            self.tokens += (tokens := sent_tokens(event))
            self.asked[job.agent_id] = tokens, time.monotonic()
        left = known_findings(event)
        if left is not None:
            first, _ = self._findings.get(job.agent_id, (left, left))
            self._findings[job.agent_id] = first, left

    def ended(self, job: Job, result: AgentResult) -> None:
        """Count a finished job. Findings count as fixed only if the changes are verified."""
        self.done += 1
        self.working.pop(job.agent_id, None)
        for code, number in self.fixed_by(job, result)[0].items():
            self.fixed += number if is_lint_code(code) else 0
            self.written += 0 if is_lint_code(code) else number

    def waiting(self, job: Job) -> str:
        """Return the tokens of the request for which a job waits, and the seconds since then."""
        tokens, since = self.asked.get(job.agent_id, (0, 0.0))
        return f" (model: {tokens:,} tokens, {time.monotonic() - since:.0f} s)" if since else ""

    def judging(self, gate: str) -> None:
        """Set the check of the project that judges the changes, or "" if none does."""
        self.gate = gate and f"checking the project: {gate}"

    def fixed_by(self, job: Job, result: AgentResult) -> tuple[Codes, Codes]:
        """Return the numbers of fixed and of remaining findings of a job, both keyed by code.

        Findings count as fixed only if the changes are verified.
        """
        before, after = self._findings.get(job.agent_id, ({}, {}))
        return (fixed(before, after), after) if result.status == VERIFIED else ({}, before)


class LiveDisplay(RunCounts):
    """A progress bar with counts and the current nodes, or what judges the changes, redrawn several times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = Progress(*_columns(""))
        self._task = self._bar.add_task("", total=None)
        text = TextColumn("{task.description}", markup=False, table_column=Column())
        self._checks = Progress(SpinnerColumn(), text, TimeElapsedColumn())
        self._check = self._checks.add_task("", total=None)

    def planned(self, run_id: str, plan: "Plan") -> None:
        super().planned(run_id, plan)
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
        names = [display_name(job.node_id) + self.waiting(job) for job in self.working.values()]
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
