"""The JSON document of `remora check`, whose schema is `remora schema check`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from remora.json_schema import DIALECT
from remora.python_text import is_only_counted
from remora.runs.report.problems import Problem
from remora.runs.report.report_model import FileChange, JobReport, Report
from remora.statuses import CUT_SHORT, UNDECIDED
from remora.text import escape_line


class CheckedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A verified change set of one operation. `name` is empty for a whole file."""

    operation: str
    path: str
    name: str
    files: tuple[FileChange, ...]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A job that ended with an error, a file that cannot be parsed, or what gates took out."""

    operation: str
    path: str
    name: str
    error: str

    @property
    def text(self) -> str:
        """The failure in a line, e.g. `lint a.py: taken out by pytest (F541, line 3): …`."""
        what = " ".join(filter(None, (self.operation, self.path, self.name)))
        return escape_line(f"{what}: {self.error}")


class CheckTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of problems, and of those that a verified change fixes, of nodes and of jobs."""

    problems: int
    fixable: int
    nodes: int
    jobs: int
    unreadable: tuple[dict[str, Any], ...]


class CheckDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Document of `remora check --json`."""

    root: str
    model: str | None
    problems: tuple[Problem, ...]
    changes: tuple[CheckedChange, ...]
    taken_out: tuple[Failure, ...]
    failures: tuple[Failure, ...]
    totals: CheckTotals


def check_document(
    root: Path, report: Report, problems: Sequence[Problem], nodes: int
) -> CheckDocument:
    return CheckDocument(
        root=str(root),
        model=report.model,
        problems=tuple(problems),
        changes=changes_of(report),
        taken_out=taken_out_of(report),
        failures=failures_of(report),
        totals=CheckTotals(
            problems=len(problems),
            fixable=sum(problem.fixable for problem in problems),
            nodes=nodes,
            jobs=report.planned,
            unreadable=report.unreadable,
        ),
    )


def changes_of(report: Report) -> tuple[CheckedChange, ...]:
    """Return the change sets that have not been decided on."""
    return tuple(
        CheckedChange(operation=job.operation, path=job.path, name=job.qualname, files=job.files)
        for job in report.jobs
        if job.review in UNDECIDED and job.files
    )


def failures_of(report: Report) -> tuple[Failure, ...]:
    """Return the jobs that ended with an error."""
    jobs = (job for job in report.jobs if job.status in CUT_SHORT)
    return tuple(_failure(job, job.error or job.status) for job in jobs)


def unchecked_of(report: Report, *, counted: bool = False) -> tuple[Failure, ...]:
    """Return the jobs that ended with an error, and, without an operation, files that failed."""
    files = ((file["path"], file["detail"]) for file in report.unreadable)
    unread = (
        Failure(operation="", path=path, name="", error=why)
        for path, why in files
        if counted or not is_only_counted(path)
    )
    return (*failures_of(report), *unread)


def taken_out_of(report: Report) -> tuple[Failure, ...]:
    """Return what gates took out of change sets, and why."""
    return tuple(_failure(job, reason) for job in report.jobs for reason in job.taken_out)


def _failure(job: JobReport, error: str) -> Failure:
    return Failure(operation=job.operation, path=job.path, name=job.qualname, error=error)


def check_schema() -> dict[str, Any]:
    return DIALECT | msgspec.json.schema(CheckDocument)
