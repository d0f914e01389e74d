"""Fixed and remaining findings of a job, taken from the results of its tools."""

from collections import Counter
from collections.abc import Iterator

from remora.operations.base import is_lint_code
from remora.runs.records.job_view import JobView
from remora.runs.report.report_model import Finding
from remora.statuses import KEPT


def is_kept(job: JobView) -> bool:
    """Return True if a change set is undecided, or accepted as a whole."""
    return job.review in KEPT and job.written is None


def findings_left(job: JobView) -> tuple[Finding, ...]:
    """Return a job's remaining findings, with their line numbers at the start of the run.

    A finding has no line number if its line was not recorded.
    """
    after = job.after if is_kept(job) else job.before
    if not after:
        return ()
    missing = Counter(after)
    found = []
    last = job.last_findings if is_kept(job) else job.first_findings
    left = Counter((each.code, each.message) for each in last)
    for each in job.first_findings:
        if left[each.code, each.message] and missing[each.code]:
            left[each.code, each.message] -= 1  # its line may have moved
            missing[each.code] -= 1
            found.append(Finding(code=each.code, message=each.message, line=each.line))
    return (*found, *_unnamed(missing))


def findings_fixed(job: JobView) -> tuple[Finding, ...]:
    """Return the findings that a job's change set fixes, if its tools listed them.

    Their line numbers are those at the start of the run.
    """
    if not is_kept(job):
        return ()
    left = Counter((each.code, each.message) for each in job.last_findings)
    if job.last_findings == job.first_findings:  # only one result listed findings
        left.clear()
    found = []
    for each in job.first_findings:
        if left[each.code, each.message]:
            left[each.code, each.message] -= 1
        else:
            found.append(Finding(code=each.code, message=each.message, line=each.line))
    return tuple(found)


def _unnamed(missing: Counter[str]) -> Iterator[Finding]:
    for code, number in sorted(missing.items()):
        if number:
            where = "the location was not recorded" if is_lint_code(code) else ""
            yield Finding(code=code, message=where, count=number)
