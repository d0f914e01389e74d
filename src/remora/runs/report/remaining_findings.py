"""Remaining findings of a job, taken from the diagnostics in its agent's packets."""

import re
from collections import Counter
from collections.abc import Iterator

from remora.operations.base import is_lint_code
from remora.runs.records.current_attempt import UNDECIDED
from remora.runs.records.job_view import JobView
from remora.runs.report.report_model import Finding

_SHAPE = re.compile(r"([A-Z]+[0-9]+) line ([0-9]+): (.*)", re.DOTALL)
"""Format of the built-in lint agent's diagnostics."""
KEPT_STATES = (*UNDECIDED, "accepted")
"""Review states of change sets whose fixes count."""


def findings_left(job: JobView) -> tuple[Finding, ...]:
    """Return a job's remaining findings, with their line numbers at the start of the run.

    A finding has no line number if its line was not recorded.
    """
    after = job.after if job.review in KEPT_STATES else job.before
    if not after:
        return ()
    missing = Counter(after)
    found = []
    first, last = job.first_diagnostics, job.last_diagnostics
    left = Counter(_text(line) for line in (last if job.review in KEPT_STATES else first))
    for line in first:
        finding = _finding(line)
        if left[_text(line)] and missing[finding.code]:
            left[_text(line)] -= 1
            missing[finding.code] -= 1
            found.append(finding)
    return (*found, *_unnamed(missing))


def _unnamed(missing: Counter[str]) -> Iterator[Finding]:
    for code, number in sorted(missing.items()):
        for _ in range(number):
            where = "the location was not recorded" if is_lint_code(code) else ""
            yield Finding(code=code, message=where)


def _finding(line: str) -> Finding:
    shape = _SHAPE.fullmatch(line)
    if shape is None:
        return Finding(code="", message=line)
    return Finding(code=shape[1], message=shape[3], line=int(shape[2]))


def _text(line: str) -> str:
    """Return a diagnostic without its line number, which changes if lines above are edited."""
    finding = _finding(line)
    return f"{finding.code} {finding.message}"
