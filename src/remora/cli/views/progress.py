"""Shows the progress of a run, as a live display on a terminal and as plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from remora.agents.job import AgentResult, Job
from remora.agents.loop.turn_counts import sent_tokens
from remora.cli.app.options import Options
from remora.cli.app.working import error_console
from remora.ids import display_name
from remora.memory.events import Event, ModelRequest
from remora.operations.base import Codes, is_lint_code
from remora.runs.records.findings import done_text, fixed, known_findings
from remora.statuses import VERIFIED, proven_text
from remora.text import count, escape_line

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

    from remora.runs.planning.plan import Plan


class RunCounts:
    """An observer that counts what happens in a run. It does not print anything."""

    def __init__(self) -> None:
        self.jobs = 0
        self.done = 0
        self.requests = 0
        self.tokens = 0
        self.fixed = 0
        # changes that fix no lint finding
        self.other_changes = 0
        self.check_text = ""
        self.working: dict[str, Job] = {}
        # tokens and start time of the open request, by agent
        self._open_requests: dict[str, tuple[int, float]] = {}
        self._findings: dict[str, tuple[Codes, Codes]] = {}

    def planned(self, run_id: str, plan: "Plan") -> None:  # noqa: ARG002 (signature of RunObserver)
        self.jobs = len(plan.jobs)

    def began(self, job: Job) -> None:
        self.working[job.agent_id] = job

    def event(self, job: Job, event: Event) -> None:
        """Count requests and tokens sent to the model, and findings reported by scripts."""
        self._open_requests.pop(job.agent_id, None)
        if event.type == ModelRequest.type:
            self.requests += 1
            self.tokens += (tokens := sent_tokens(event))
            self._open_requests[job.agent_id] = tokens, time.monotonic()
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
            self.other_changes += 0 if is_lint_code(code) else number

    def waiting(self, job: Job) -> str:
        """Return the tokens of the request for which a job waits, and the seconds since then."""
        tokens, since = self._open_requests.get(job.agent_id, (0, 0.0))
        return f" (model: {tokens:,} tokens, {time.monotonic() - since:.0f} s)" if since else ""

    def judging(self, gate: str) -> None:
        """Set the check of the project that judges the changes, or "" if none does."""
        self.check_text = gate and f"checking the project: {gate}"

    def fixed_by(self, job: Job, result: AgentResult) -> tuple[Codes, Codes]:
        """Return the numbers of fixed and of remaining findings of a job, both keyed by code.

        Findings count as fixed only if the changes are verified.
        """
        before, after = self._findings.get(job.agent_id, ({}, {}))
        return (fixed(before, after), after) if result.status == VERIFIED else ({}, before)


class LineProgress(RunCounts):
    """Prints to stderr what judges the changes, and if `jobs` is True, a line for each ended job.

    Each check of the project and each error is printed only once.
    """

    def __init__(self, *, jobs: bool = True) -> None:
        super().__init__()
        self._shows_jobs = jobs
        self._printed = {""}  # an empty text is never printed

    def judging(self, gate: str) -> None:
        super().judging(gate)
        if self.check_text not in self._printed:
            self._printed.add(self.check_text)
            click.echo(escape_line(self.check_text), err=True)

    def ended(self, job: Job, result: AgentResult) -> None:
        super().ended(job, result)
        if not self._shows_jobs:
            return
        width = len(str(self.jobs))
        node = display_name(job.node_id)
        parts = [done_text(*self.fixed_by(job, result)) or count(result.counts.turns, "turn")]
        if result.error:
            is_repeated = result.error in self._printed
            parts.append("for the same reason" if is_repeated else result.error)
            self._printed.add(result.error)
        state = proven_text(result.status, None)  # the tests run after all jobs
        head = f"[{self.done:>{width}}/{self.jobs}] {state:<9} {job.operation} {node}"
        click.echo(escape_line(f"{head}  {', '.join(parts)}"), err=True)


class LiveDisplay(RunCounts):
    """A progress bar with counts and the current nodes, or what judges the changes."""

    def __init__(self) -> None:
        from rich.progress import (  # slow to import
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.table import Column

        super().__init__()
        columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        self._bar = Progress(*columns)
        self._task = self._bar.add_task("", total=None)
        text = TextColumn("{task.description}", markup=False, table_column=Column())
        self._checks = Progress(SpinnerColumn(), text, TimeElapsedColumn())
        self._check = self._checks.add_task("", total=None)

    def __rich__(self) -> "Group":
        from rich.console import Group

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


def _one_line(text: str, style: str = "") -> "Text":
    from rich.text import Text

    return Text(text, style, no_wrap=True, overflow="ellipsis")


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
        from rich.live import Live

        display = LiveDisplay()
        with Live(display, console=error_console(), transient=True, refresh_per_second=8):
            yield display
