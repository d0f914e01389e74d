"""A run's report as a record: all that any of its forms tells, and nothing that has to be looked up."""

from typing import Any, Literal

import msgspec

from remora.memory.events import Head
from remora.runs.records.totals import Sum


class Edit(msgspec.Struct, frozen=True):
    """Lines `start` to before `end` of a file (from 1) become `text`."""

    start: int
    end: int
    text: str


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One changed file. `path` is spelled as in a node key. `edits` and `last_column` are null and
    0 where it is no text, and `edits` also where a secret in them was redacted: `last_column` is the length of the last line of what it was, if that
    line has no end."""

    path: str
    kind: Literal["added", "modified", "deleted"]
    diff: str
    edits: tuple[Edit, ...] | None
    lines: int
    last_column: int


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that nobody mended. `line` is the one it had when the run began, null where the
    record does not tell."""

    code: str
    message: str
    line: int | None = None


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """A job: what became of it, what it changes, what it leaves. `state` is a person's verdict, or
    where nobody gave one, how the job ended."""

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
    """A run. `sums` say what each operation came to; `fixed` of `findings` are a linter's that are mended
    by what is accepted or waits, both null where no job knows of any; `waiting` counts change sets that nobody has said yes or no to; `skipped` counts pairs of node and
    operation, `skipped_nodes` nodes."""

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
    sums: tuple[Sum, ...]
    asked: int
    differed: int
    jobs: tuple[JobReport, ...]
