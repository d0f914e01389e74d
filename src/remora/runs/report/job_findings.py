"""The findings that a run's jobs fixed, and those that are left."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from remora.ids import file_of_key
from remora.operations.base import (
    FIX_TAKEN_OUT,
    IN_PART,
    NEEDS_UNSAFE,
    NO_FIX,
    NOT_KEPT,
    Codes,
    is_lint_code,
)
from remora.operations.base import KEPT as LEFT_ALONE
from remora.runs.records.findings import ListedFinding
from remora.runs.records.job_view import JobView
from remora.runs.records.results import RunView
from remora.runs.report.report_model import Finding
from remora.statuses import KEPT, TAKEN_OUT

_REASONS = ("", NO_FIX, NEEDS_UNSAFE, NOT_KEPT, FIX_TAKEN_OUT, IN_PART)
"""Reasons that say nothing of a finding itself. Another reason is why it is left as it is."""
_PLACE = re.compile(r"(.*?):\d+ ")
"""The path and line with which the text of a finding begins."""


def is_kept(job: JobView) -> bool:
    """Return True if all of a change set is undecided or accepted."""
    return job.review.state in KEPT and job.review.is_whole


def findings_left(job: JobView, edited: Collection[int]) -> tuple[Finding, ...]:
    """Return a job's remaining findings, with their line numbers at the start of the run.

    Of equal findings, those on lines that were not `edited` remain. A finding has no line number if its line was not recorded.
    """
    after = job.findings.after if is_kept(job) else job.findings.before
    if not after:
        return ()
    missing = Counter(after)
    found = []
    lost = (
        FIX_TAKEN_OUT
        if job.review.state == TAKEN_OUT
        else NOT_KEPT
        if job.review.is_whole
        else IN_PART
    )
    last = _last_of_first(job, edited)
    for finding, at_end in zip(job.findings.first, last, strict=True):
        if missing[finding.code] and (at_end is not None or not is_kept(job)):
            missing[finding.code] -= 1
            reason = lost if at_end is None else at_end.reason
            found.append(Finding(finding.code, finding.message, finding.line, reason=reason))
    unnamed = _unnamed(missing, job.findings.remaining, found, "" if is_kept(job) else lost)
    return (*sorted(found, key=lambda finding: finding.line or 0), *unnamed)


def lint_left(view: RunView) -> Iterator[tuple[str, int, str]]:
    """Yield the lint findings that a run leaves: why, how many they are, and what they are.

    Of files on which a job worked, these are what it left, and otherwise what the plan left.
    """
    seen = set()
    for job in view.jobs:
        if job.findings.before and all(map(is_lint_code, job.findings.before)):
            path = file_of_key(job.node_id)
            if job.nodes is not None:
                seen.add(path)
            for finding in findings_left(job, ()):
                known = finding.reason in _REASONS
                place = f"{path}:{finding.line}" if finding.line else path
                text = f"{place} {finding.code}: {finding.message if known else finding.reason}"
                yield finding.reason if known else LEFT_ALONE, finding.count, text
    for reason, texts in view.start.plan.get("left_findings", {}).items():
        for text in texts:
            match = _PLACE.match(text)
            if match is None or match[1] not in seen:
                yield reason, 1, text


def findings_fixed(job: JobView, edited: Collection[int] = ()) -> tuple[Finding, ...]:
    """Return the findings that a job's change set fixes, if its tools listed them.

    Their line numbers are those at the start of the run.
    """
    if not is_kept(job):
        return ()
    last = _last_of_first(job, edited)
    if job.findings.last == job.findings.first:  # only one result listed findings
        last = [None] * len(last)
    return tuple(
        Finding(code=finding.code, message=finding.message, line=finding.line)
        for finding, at_end in zip(job.findings.first, last, strict=True)
        if at_end is None
    )


def _last_of_first(job: JobView, edited: Collection[int]) -> list[ListedFinding | None]:
    """Return what each first finding is among the last ones, whose lines may have moved, or None.

    Of equal findings, those on lines that were not `edited` remain, and then the nearest ones.
    """
    places = dict[tuple[str, str], list[int]]()
    for place, finding in enumerate(job.findings.first):
        places.setdefault((finding.code, finding.message), []).append(place)
    found: list[ListedFinding | None] = [None] * len(job.findings.first)
    for finding in sorted(job.findings.last, key=lambda last: last.reason != FIX_TAKEN_OUT):

        def distance(place: int, line: int = finding.line or 0) -> tuple[bool, int]:
            own = job.findings.first[place].line or 0
            return own in edited and own != line, abs(own - line)

        if alike := places.get((finding.code, finding.message)):
            nearest = min(alike, key=distance)
            alike.remove(nearest)
            found[nearest] = finding
    return found


def _unnamed(
    missing: Counter[str], remaining: Mapping[str, Codes], named: Sequence[Finding], otherwise: str
) -> Iterator[Finding]:
    known = Counter((finding.reason, finding.code) for finding in named)
    for reason, codes in (*remaining.items(), (otherwise, dict(missing))):
        for code, number in sorted(codes.items()):
            if (count := min(number - known[reason, code], missing[code])) > 0:
                missing[code] -= count
                where = "the location was not recorded" if is_lint_code(code) else ""
                yield Finding(code=code, message=where, count=count, reason=reason)
