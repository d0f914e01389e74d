"""Layout of a report in Markdown. Its strings are not escaped."""

from collections.abc import Sequence
from typing import NamedTuple

from remora.ids import display_name
from remora.operations.base import is_lint_code
from remora.runs.records.decision_sources import sources_text
from remora.runs.records.findings import codes_text, fixes_text
from remora.runs.records.model_part import model_text
from remora.runs.records.totals import phrases_of
from remora.runs.report.report_model import Finding, JobReport, Report
from remora.statuses import CONFLICT, DONE, KEPT, PENDING, STALE, VERIFIED, status_text
from remora.text import count, escape_line


class JobRow(NamedTuple):
    """The row of a job in a report. `state` is the displayed name of the job's state."""

    job: JobReport
    name: str
    state: str
    fixed: str
    left: str
    deciders: str
    reasons: list[str]
    diff: str


class FindingRow(NamedTuple):
    """The row of a remaining finding or an unreadable file.

    `rule` is empty if the finding does not come from a lint rule.
    """

    place: str
    rule: str
    text: str


class Layout(NamedTuple):
    """The parts of a report, in reading order.

    `remaining` is the number of findings, of which a row may have several.
    """

    headline: str
    run: str
    totals: str
    details: list[str]
    findings: list[FindingRow]
    remaining: int
    unreadable: list[FindingRow]
    jobs: list[JobRow]
    head: str


def layout(report: Report) -> Layout:
    phrases = phrases_of(report.sums)
    pending = _pending(report)
    brief = [phrase.brief for phrase in phrases]
    findings = [_finding(job, finding) for job in report.jobs for finding in job.left]
    remaining = sum(finding.count for job in report.jobs for finding in job.left)
    return Layout(
        headline=", ".join([*brief, pending] if report.waiting or not brief else brief),
        run=_run(report),
        totals=f"{_totals(report)}. {_decisions(report)}.",
        details=[*(phrase.whole for phrase in phrases if phrase.more), *report.gates],
        findings=findings,
        remaining=remaining,
        unreadable=[
            FindingRow(str(file.get("path")), "", f"could not be read: {file.get('detail')}")
            for file in report.unreadable
        ],
        jobs=[_job(job) for job in report.jobs],
        head=f"{report.head.count} {report.head.hash}",
    )


def _pending(report: Report) -> str:
    if not report.waiting:
        return f"{count(report.planned, 'job')}, nothing to review"
    return f"{count(report.waiting, 'change')} pending review"


def _run(report: Report) -> str:
    """Describe the run, e.g. `ended · 2026-01-31 09:30 UTC · model X · commit abc`."""
    start = report.started[:16].replace("T", " ")
    parts = [report.status, f"{start} UTC", f"model {report.model}"]
    return " · ".join([*parts, f"commit {report.commit[:12]}"] if report.commit else parts)


def _totals(report: Report) -> str:
    """Describe the totals, e.g. `6 jobs: 4 accepted, 2 no change; 12 other functions unchanged`."""
    states = ", ".join(f"{n:,} {_state(state)}" for state, n in report.states.items())
    text = count(report.planned, "job") + (f": {states}" if states else "")
    started = sum(report.states.values())
    text += f"; {report.planned - started:,} not started" if started < report.planned else ""
    others = count(report.skipped_nodes, "other function")
    return text + (f"; {others} unchanged" if report.skipped_nodes else "")


def _decisions(report: Report) -> str:
    if sum(report.decisions.values()) == report.decisions.get("rule", 0):
        return "Rules made all decisions"
    parts = [sources_text(report.decisions)]
    return ". ".join(parts if report.by_model is None else [*parts, model_text(report.by_model)])


def _state(state: str) -> str:
    return VERIFIED if state == PENDING else status_text(state)


def _job(job: JobReport) -> JobRow:
    return JobRow(
        job=job,
        name=display_name(job.node_id),
        state=_state(job.state),
        fixed=fixes_of(job),
        left=left_codes(job.left),
        deciders=", ".join(f"{who} {n}" for who, n in job.decided_by.items() if n),
        reasons=reasons(job),
        diff="".join(file.diff for file in job.files),
    )


def _finding(job: JobReport, finding: Finding) -> FindingRow:
    place = f"{job.path}:{finding.line}" if finding.line else display_name(job.node_id)
    text = finding_text(finding) + (f" ({finding.reason})" if finding.reason else "")
    return FindingRow(place, finding.code if _has_rule(finding) else "", text)


def finding_text(finding: Finding) -> str:
    """Describe a finding without its rule, e.g. `12 missing annotations`."""
    if not _has_rule(finding):
        text = finding.message or finding.code
        return text if finding.count == 1 else count(finding.count, text)
    return finding.message if finding.count == 1 else f"{finding.message} (x{finding.count})"


def _has_rule(finding: Finding) -> bool:
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
