"""How a run goes while it goes: a live display on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from remora.agents.job import AgentResult, Job
from remora.agents.loop.stop_rules import sent_tokens
from remora.cli.app.options import Options
from remora.cli.app.output import count
from remora.cli.views.job_view import done_text, status_word
from remora.memory.events import Event, ModelRequest, ToolResulted
from remora.runs.planning.plan import Plan
from remora.runs.records.findings import Codes, fixed, is_lint_code, known_findings
from remora.runs.review.review import Pace, Usable
from remora.text import plain


class Count:
    """What a run has come to so far; a watcher that shows nothing."""

    def __init__(self) -> None:
        self.jobs = 0
        self.done = 0
        self.turns = 0
        self.tokens = 0
        self.fixed = 0
        self.written = 0
        self.working: dict[str, Job] = {}
        self._findings: dict[str, tuple[Codes, Codes]] = {}

    def planned(self, run_id: str, plan: Plan) -> None:  # noqa: ARG002 (a Watcher's)
        """The run begins."""
        self.jobs = len(plan.jobs)

    def began(self, job: Job) -> None:
        """A job begins."""
        self.working[job.agent_id] = job

    def event(self, job: Job, event: Event) -> None:
        """Count turns, tokens sent, and findings as the tools report them."""
        if event.type == "turn_start":
            self.turns += 1
        elif event.type == ModelRequest.type:
            self.tokens += sent_tokens(event)
        elif event.type == ToolResulted.type:
            left = known_findings(event)
            if left is not None:
                first, _ = self._findings.get(job.agent_id, (left, left))
                self._findings[job.agent_id] = first, left

    def ended(self, job: Job, result: AgentResult) -> None:
        """A job ended; only what was verified counts as fixed."""
        self.done += 1
        self.working.pop(job.agent_id, None)
        for code, number in self.fixed_by(job, result)[0].items():
            self.fixed += number if is_lint_code(code) else 0
            self.written += 0 if is_lint_code(code) else number

    def fixed_by(self, job: Job, result: AgentResult) -> tuple[Codes, Codes]:
        """Findings of the job's node by code: fixed, and left. Only what was verified is fixed."""
        before, after = self._findings.get(job.agent_id, ({}, {}))
        return (fixed(before, after), after) if result.status == "submitted" else ({}, before)


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


class LiveDisplay(Count):
    """A bar, the counts, and the nodes that are worked on; drawn again several times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._bar = Progress(
            TextColumn("jobs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        )
        self._task = self._bar.add_task("jobs", total=None)

    def planned(self, run_id: str, plan: Plan) -> None:
        """The bar's length is known now."""
        super().planned(run_id, plan)
        self._bar.update(self._task, total=self.jobs)

    def ended(self, job: Job, result: AgentResult) -> None:
        """The bar moves."""
        super().ended(job, result)
        self._bar.update(self._task, completed=self.done)

    def __rich__(self) -> Group:
        """What is drawn."""
        counts = f"{count(self.turns, 'turn')} · {count(self.tokens, 'token')} sent · "
        counts += f"{count(self.fixed, 'finding')} fixed"
        counts += f" · {self.written:,} docstrings and tests written" if self.written else ""
        names = [job.node_id.removeprefix("node:") for job in self.working.values()]
        nodes = [_one_line(f"  {plain(name)}", "dim") for name in names]
        return Group(self._bar, _one_line(counts), *nodes)


@contextmanager
def watching(options: Options) -> Iterator[Count]:
    """The watcher that suits where we write to."""
    if options.quiet:
        yield Count()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        display = LiveDisplay()
        with Live(display, console=Console(stderr=True), transient=True, refresh_per_second=8):
            yield display


@contextmanager
def accepting(options: Options) -> Iterator[Pace]:
    """How far an accept is: a bar on a terminal, nothing where a program reads along."""
    if options.quiet or options.json or not sys.stderr.isatty():
        yield iter
        return
    bar = Progress(
        TextColumn("change sets"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("change sets", total=None)

        def pace(usable: Sequence[Usable]) -> Iterator[Usable]:
            bar.update(task, total=len(usable))
            for each in usable:
                yield each
                bar.advance(task)

        yield pace


def _one_line(text: str, style: str = "") -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")
