"""Data of a run's report, shared by all formats."""

from typing import Any, Literal

import msgspec

from remora.ids import MODULE
from remora.memory.events import Head
from remora.runs.records.decision_sources import ModelPart
from remora.runs.records.totals import OperationTotals


class Edit(msgspec.Struct, frozen=True):
    """Replaces a range of lines with `text`.

    The range includes line `start` but not line `end`. Line numbers start at 1.
    """

    start: int
    end: int
    text: str


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file.

    `path` is escaped as in a node key. `edits` is null for a binary file. If the last line of the
    old file has no newline, `last_column` is the length of that line. Otherwise, it is 0. In a
    check, `groups` has equal numbers for the edits of a change set that need each other.
    """

    path: str
    kind: Literal["added", "modified", "deleted"]
    diff: str
    edits: tuple[Edit, ...] | None
    lines: int
    last_column: int
    groups: tuple[int, ...] = ()


class Finding(msgspec.Struct, frozen=True):
    """A remaining finding, or several equal ones whose lines were not recorded."""

    code: str
    message: str
    line: int | None = None
    """The line at the start of the run, or null if it was not recorded."""
    count: int = 1
    reason: str = ""
    """Why the finding is left, if the tools say it."""


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """A job's result, changes and remaining findings."""

    agent_id: str
    operation: str
    node_id: str
    path: str
    name: str
    status: str
    review: str
    state: str
    """The verdict, or the status if there is no verdict."""
    turns: int
    decided_by: dict[str, int]
    fixed: dict[str, int]
    """The fixed findings, counted by code."""
    measurements: dict[str, int] | None = msgspec.field(name="worth")
    measurement_text: str = msgspec.field(name="worth_text")
    fixes: tuple[Finding, ...] = ()
    """The findings that the change set fixes, as far as tools listed them."""
    left: tuple[Finding, ...]
    """The findings that remain."""
    files: tuple[FileChange, ...]
    conflicts: tuple[dict[str, Any], ...]
    branch: str | None
    error: str | None
    reasons: tuple[str, ...] = ()
    """What the model left or took back, and how far what it edited is tested."""
    taken_out: tuple[str, ...] = ()
    """Why gates took out parts of the change set, or all of it."""
    head: Head
    written: str = ""
    """What was accepted if it is not the whole change set, such as `2 of 3 hunks`."""
    proof: str = ""
    """The same as in `JobView`."""

    @property
    def qualname(self) -> str:
        """The name of the function or class, or an empty string for a module."""
        return "" if self.name == MODULE else self.name


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a run."""

    run_id: str
    project: str
    started: str
    status: str
    model: str | None
    version: str
    head: Head
    commit: str | None
    planned: int
    """The number of planned jobs."""
    skipped: int
    """The number of pairs of a node and an operation without a job."""
    skipped_nodes: int
    """The number of nodes without a job."""
    unreadable: tuple[dict[str, Any], ...]
    """The files that no job could work on."""
    states: dict[str, int]
    """The number of jobs by state."""
    waiting: int
    """The number of change sets that are pending review."""
    fixed: int | None
    """The number of findings fixed by accepted or pending changes, or null if it is unknown."""
    findings: int | None
    """The number of lint findings, or null if it is unknown."""
    sums: tuple[OperationTotals, ...]
    """The totals of each operation."""
    decisions: dict[str, int]
    """Decisions, counted by what made them."""
    by_model: ModelPart | None
    """The model's part, or null."""
    gates: tuple[str, ...]
    """The proof of the change sets, and the gaps."""
    jobs: tuple[JobReport, ...]
