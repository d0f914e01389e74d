"""Prints what `remora watch` does, as text or as JSON lines."""

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from pathlib import Path

import click

from remora.cli.app.json_lines import LinePrinter
from remora.cli.app.options import Options
from remora.cli.app.output import note
from remora.cli.app.project_context import next_command
from remora.errors import RemoraError
from remora.ids import MODULE, file_of_key, split_node_key
from remora.runs.records.job_view import JobView
from remora.runs.records.run_events import JsonLine
from remora.statuses import PENDING
from remora.text import count, escape_line, some_of
from remora.usecases.watch.watch_pass import PassResult

_NAMES = 4
"""Maximum number of functions that a line names."""


class TextOutput:
    """Prints proposals to stdout, one line for each file, and everything else to stderr."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._root = Path()
        self._review = ""
        self.has_started = False

    def started(self, root: Path, commit: str) -> None:
        self.has_started = True
        self._review = next_command(self._options, root, "review", "--watched")
        self._root = root
        self.noted(f"watching {root} for changes since commit {commit[:7]}; Ctrl-C ends")

    def analyzed(self, result: PassResult) -> None:
        if result.withdrawn:
            self.noted(f"{count(result.withdrawn, 'outdated proposal')} withdrawn")
        files = _by_file(_proposed(result.jobs))
        for path, jobs in files:
            found = count(len(jobs), "proposal")
            click.echo(escape_line(f"{_time()} {path}: {found} ({_names(jobs)}): {self._review}"))
        number = len(result.jobs) - len(result.failed)
        if number and not files:
            self.noted(f"{count(number, 'job')}, nothing to propose")
        if result.failed:
            show = next_command(self._options, self._root, "show", result.run_id)
            self.noted(f"{count(len(result.failed), 'job')} failed: {show}")
        if not result.run_id and not result.withdrawn:
            self.noted("nothing new to analyze")
        if result.left_out:
            self.noted(
                f"{count(len(result.left_out), 'job')} left out (--max-jobs): "
                "`remora analyze --changed` runs them"
            )

    def failed(self, error: RemoraError) -> None:
        self.noted(f"error: {error.message}" + (f" ({error.hint})" if error.hint else ""))

    def noted(self, text: str) -> None:
        note(self._options, f"{_time()} {text}")


class Watching(JsonLine, frozen=True, kw_only=True, tag="watching"):
    """The first line. `commit` is the commit that files are compared with at the start."""

    root: str
    commit: str


class Proposed(JsonLine, frozen=True, kw_only=True, tag="proposal"):
    """A verified change set that waits for a review."""

    run_id: str
    agent_id: str
    operation: str
    node_id: str
    files: tuple[str, ...]


class Analyzed(JsonLine, frozen=True, kw_only=True, tag="analysis"):
    """The end of an analysis, after its proposals.

    `run_id` is null if no job was necessary. `failed` is the number of jobs that failed, ended with
    an error or were interrupted, `withdrawn` that of earlier proposals that were withdrawn as
    outdated, and `left_out` that of jobs above `--max-jobs`.
    """

    run_id: str | None
    jobs: int
    failed: int
    proposals: int
    withdrawn: int
    left_out: int


class WatchFailed(JsonLine, frozen=True, kw_only=True, tag="error"):
    """An analysis that failed. The watch continues."""

    code: str
    message: str
    hint: str


class WatchNoted(JsonLine, frozen=True, kw_only=True, tag="note"):
    message: str


class JsonOutput:
    """Prints each event as a JSON object on a line."""

    def __init__(self) -> None:
        self._print = LinePrinter()
        self.has_started = False

    def started(self, root: Path, commit: str) -> None:
        self.has_started = True
        self._print(Watching(root=str(root), commit=commit))

    def analyzed(self, result: PassResult) -> None:
        proposed = _proposed(result.jobs)
        for job in proposed:
            self._print(
                Proposed(
                    run_id=result.run_id,
                    agent_id=job.agent_id,
                    operation=job.operation,
                    node_id=job.node_id,
                    files=tuple(change.path for change in job.change_set),
                )
            )
        self._print(
            Analyzed(
                run_id=result.run_id or None,
                jobs=len(result.jobs),
                failed=len(result.failed),
                proposals=len(proposed),
                withdrawn=result.withdrawn,
                left_out=len(result.left_out),
            )
        )

    def failed(self, error: RemoraError) -> None:
        self._print(WatchFailed(code=error.code, message=error.message, hint=error.hint))

    def noted(self, text: str) -> None:
        self._print(WatchNoted(message=text))


def _proposed(jobs: Iterable[JobView]) -> list[JobView]:
    return [job for job in jobs if job.review == PENDING]


def _by_file(jobs: Iterable[JobView]) -> list[tuple[str, list[JobView]]]:
    ordered = sorted(jobs, key=_file_of)
    return [(path, [*found]) for path, found in groupby(ordered, _file_of)]


def _file_of(job: JobView) -> str:
    return file_of_key(job.node_id)


def _names(jobs: list[JobView]) -> str:
    """Return what the proposals are about, such as `docstring Cart.total, lint`."""
    return some_of([_name(job) for job in jobs], _NAMES)


def _name(job: JobView) -> str:
    named = job.nodes or [job.node_id]
    qualname = split_node_key(named[0])[1] if len(named) == 1 else ""
    return job.operation if qualname in ("", MODULE) else f"{job.operation} {qualname}"


def _time() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")
