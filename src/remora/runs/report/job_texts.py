"""Texts about jobs and findings of a report, the same in all formats. They are not escaped."""

from collections.abc import Sequence

from remora.operations.base import is_lint_code
from remora.runs.records.findings import codes_text, fixes_text
from remora.runs.report.report_model import Finding, JobReport
from remora.statuses import CONFLICT, DONE, KEPT, STALE
from remora.text import count, escape_line


def finding_text(finding: Finding) -> str:
    """Describe a finding without its rule, e.g. `12 missing annotations`."""
    if not has_rule(finding):
        text = finding.message or finding.code
        return text if finding.count == 1 else count(finding.count, text)
    return finding.message if finding.count == 1 else f"{finding.message} (x{finding.count})"


def has_rule(finding: Finding) -> bool:
    """Return True if the finding has the code of a lint rule."""
    return bool(finding.code) and is_lint_code(finding.code)


def fixes_of(job: JobReport) -> str:
    """Describe a job's fixes, e.g. `fixed F401 x2`, `docstring added` or `test added`.

    The description begins with `would` for a conflicting change set, and is empty for a rejected
    change set.
    """
    if job.review not in KEPT:
        return ""
    if job.written:
        return f"accepted: {job.written}"
    is_done = job.review in DONE
    text = fixes_text(job.fixed, done=is_done)
    if job.measurement_text and job.fixed and is_done:
        text += f", {job.measurement_text}"
    return escape_line(text)


def left_codes(left: Sequence[Finding]) -> str:
    counts: dict[str, int] = {}
    for finding in left:
        counts[finding.code or "?"] = counts.get(finding.code or "?", 0) + finding.count
    return escape_line(codes_text(counts))


def reasons(job: JobReport) -> list[str]:
    found = [job.error] if job.error else []
    if job.review == CONFLICT:
        found = [f"{met.get('path')}: {met.get('detail')}" for met in job.conflicts]
    elif job.review == STALE:
        found = ["the node changed while the agent was working on it"]
    return [*map(escape_line, [*found, *job.reasons])]
