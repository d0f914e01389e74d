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
    """A remaining finding, or several equal ones whose lines were not recorded.

    `line` is its line number at the start of the run, or null if the line was not recorded.
    `reason` says why the finding is left, if the tools do.
    """

    code: str
    message: str
    line: int | None = None
    count: int = 1
    reason: str = ""


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """A job's result, changes and remaining findings.

    `state` is the verdict, or the status if there is no verdict. `fixes` contains the findings that
    the change set fixes, as far as tools listed them. `reasons` has what the model left or took
    back, and how far what it edited is tested. `taken_out` says why gates took out parts of the
    change set, or all of it. `written` describes what was accepted if it is not
    the whole change set, such as `2 of 3 hunks`. `proof` is that of `JobView`.
    """

    agent_id: str
    operation: str
    node_id: str
    path: str
    name: str
    status: str
    review: str
    state: str
    turns: int
    decided_by: dict[str, int]
    fixed: dict[str, int]
    measurements: dict[str, int] | None = msgspec.field(name="worth")
    measurement_text: str = msgspec.field(name="worth_text")
    fixes: tuple[Finding, ...] = ()
    left: tuple[Finding, ...]
    files: tuple[FileChange, ...]
    conflicts: tuple[dict[str, Any], ...]
    branch: str | None
    error: str | None
    reasons: tuple[str, ...] = ()
    taken_out: tuple[str, ...] = ()
    head: Head
    written: str = ""
    proof: str = ""

    @property
    def qualname(self) -> str:
        """The name of the function or class, or an empty string for a module."""
        return "" if self.name == MODULE else self.name


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The report of a run.

    `sums` contains the totals of each operation. `findings` is the number of lint findings, and
    `fixed` is the number of findings fixed by accepted or pending changes. Both are null if they
    are unknown for every job. `waiting` is the number of change sets that are pending review.
    `skipped` is the number of node-operation pairs without a job, and `skipped_nodes` is the number
    of nodes without a job. `decisions` counts decisions by what made them. `by_model` is the
    model's part, or null. `gates` says what stands behind the change sets.
    """

    run_id: str
    project: str
    started: str
    status: str
    model: str | None
    version: str
    head: Head
    commit: str | None
    planned: int
    skipped: int
    skipped_nodes: int
    unreadable: tuple[dict[str, Any], ...]
    states: dict[str, int]
    waiting: int
    fixed: int | None
    findings: int | None
    sums: tuple[OperationTotals, ...]
    decisions: dict[str, int]
    by_model: ModelPart | None
    gates: tuple[str, ...]
    jobs: tuple[JobReport, ...]
