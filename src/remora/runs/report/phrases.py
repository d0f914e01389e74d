"""Phrases shared by Markdown and HTML reports."""

from collections.abc import Sequence

from remora.runs.records.findings import codes_text, fixes_text
from remora.runs.records.totals import asked_text, phrases_of
from remora.runs.report.remaining import KEPT_STATES
from remora.runs.report.report_model import Finding, JobReport, Report
from remora.text import escape_line

STATES = {"submitted": "verified", "pending": "verified", "no_change": "no change"}
"""Names of states in reports; JSON keeps the recorded ones."""


def headline(report: Report) -> str:
    """`4 of 6 findings fixed, 2 of 2 docstrings written, 5 change sets wait for a verdict`."""
    parts = [escape_line(told.brief) for told in phrases_of(report.sums)]
    return ", ".join([*parts, pending_text(report)] if report.waiting or not parts else parts)


def pending_text(report: Report) -> str:
    """`3 change sets wait for a verdict`."""
    if not report.waiting:
        return f"{count(report.planned, 'job')}, nothing to decide"
    return f"{count(report.waiting, 'change set')} wait{'s' * (report.waiting == 1)} for a verdict"


def run_line(report: Report) -> str:
    """`ended · 2026-01-31 09:30 UTC · model X · commit abc`."""
    began = report.started[:16].replace("T", " ")
    parts = [report.status, f"{began} UTC", f"model {report.model}"]
    parts += [f"commit {report.commit[:12]}"] if report.commit else []
    return escape_line(" · ".join(parts))


def totals(report: Report) -> str:
    """`6 jobs: 4 accepted, 2 no change; 12 other nodes left alone`."""
    states = ", ".join(f"{n:,} {state_word(state)}" for state, n in report.states.items())
    text = count(report.planned, "job") + (f": {states}" if states else "")
    begun = sum(report.states.values())
    text += f"; {report.planned - begun:,} had not begun" if begun < report.planned else ""
    others = count(report.skipped_nodes, "other node")
    return text + (f"; {others} left alone" if report.skipped_nodes else "")


def decisions_text(report: Report) -> str:
    """Return a sentence on how often a model decided."""
    if not report.asked:
        return "No decision had a choice: rules took them all"
    told = asked_text(report.asked, report.differed)
    return told[:1].upper() + told[1:]


def deciders(job: JobReport) -> str:
    """`rule 3, model 1`."""
    return ", ".join(f"{who} {n}" for who, n in job.decided_by.items() if n)


def fixes_of(job: JobReport) -> str:
    """Return `fixed F401 x2`, `docstring added`, `test added, which notices 5 of 6 planted faults`.

    With a conflict `would fix …`; empty for a rejected change set.
    """
    if job.review not in KEPT_STATES:
        return ""
    is_done = job.review in ("pending", "accepted")
    told = escape_line(fixes_text(job.fixed, done=is_done))
    return (
        f"{told}, {escape_line(job.worth_text)}"
        if job.worth_text and job.fixed and is_done
        else told
    )


def left_codes(left: Sequence[Finding]) -> str:
    """Return the codes of remaining findings."""
    counts: dict[str, int] = {}
    for finding in left:
        counts[finding.code or "?"] = counts.get(finding.code or "?", 0) + 1
    return escape_line(codes_text(counts))


def state_word(state: str) -> str:
    """Return a state's name in reports."""
    return escape_line(STATES.get(state, state))


def reasons(job: JobReport) -> list[str]:
    """Return why a job failed, one line each."""
    if job.review == "conflict":
        return [escape_line(f"{met.get('path')}: {met.get('detail')}") for met in job.conflicts]
    if job.review == "stale":
        return ["it changed while the agent worked on it"]
    return [escape_line(job.error)] if job.error and not job.review else []


def count(number: int, one: str) -> str:
    """`1 file`, `1,234 files`."""
    return f"{number:,} {one}{'s' * (number != 1)}"
