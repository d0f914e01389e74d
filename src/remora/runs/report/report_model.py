"""Data of a run's report, shared by all formats."""

from typing import Any, Literal

import msgspec

from remora.memory.events import Head
from remora.runs.records.totals import OperationTotals


class Edit(msgspec.Struct, frozen=True):
    """Replacement of a range of lines by `text`.

    The range includes line `start` and excludes line `end`. Lines are counted from 1.
    """

    start: int
    end: int
    text: str


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One changed file.

    `path` is escaped as in a node key. `edits` is null for a binary file. `last_column` is the
    length of the old file's last line if that line has no newline, else 0.
    """

    path: str
    kind: Literal["added", "modified", "deleted"]
    diff: str
    edits: tuple[Edit, ...] | None
    lines: int
    last_column: int


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A remaining finding; `line` is its line at the start of the run, or null if not recorded."""

    code: str
    message: str
    line: int | None = None


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """A job's result, changes and remaining findings.

    `state` is the verdict, or the status if there is no verdict.
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
    worth: dict[str, int] | None
    worth_text: str
    left: tuple[Finding, ...]
    files: tuple[FileChange, ...]
    conflicts: tuple[dict[str, Any], ...]
    branch: str | None
    error: str | None
    head: Head


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A run's report.

    `sums` has the totals by operation. `findings` counts lint findings; `fixed` counts findings
    that accepted or pending changes fix. Both are null if unknown for every job. `waiting` counts
    change sets pending review. `skipped` counts pairs of node and operation, `skipped_nodes` counts
    nodes.
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
    asked: int
    differed: int
    jobs: tuple[JobReport, ...]
