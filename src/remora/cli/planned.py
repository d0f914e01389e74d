"""A plan in words: its jobs, its shape, and how long it may take."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from remora.bootstrap import Prepared
from remora.cli.output import count, plain
from remora.cli.summary import job_lines, needless, totals_line, unreadable_lines
from remora.runs.plan import Plan

_SECONDS_A_JOB = 0.6
"""Measured with the lint agent; another model or operation may take ten times as long."""
_FILES = 10


def plan_lines(prepared: Prepared, document: Mapping[str, Any]) -> Iterator[str]:
    """A plan that is not carried out, from its document."""
    plan = prepared.plan
    yield from job_lines(document["jobs"])
    if plan.jobs:
        yield f"\n{shape(plan)}; {needless(plan.skipped)}"
    elif plan.nodes:
        yield f"nothing to do: {totals_line(document['totals'])}"
    else:
        yield f"nothing to do: no Python code in {plain(str(prepared.project.root))}"
    yield from unreadable_lines(document["totals"])
    if plan.jobs:
        yield "nothing was run; the same command without --dry-run does it"


def shape(plan: Plan) -> str:
    """`340 jobs (lint 340) in 42 files, 1,200 findings`."""
    operations = Counter(job.operation for job in plan.jobs)
    named = ", ".join(f"{operation} {number:,}" for operation, number in operations.items())
    files = len({job.path for job in plan.jobs})
    findings = f", {count(plan.findings, 'finding')}" if plan.findings else ""
    return f"{count(len(plan.jobs), 'job')} ({named}) in {count(files, 'file')}{findings}"


def by_file(plan: Plan) -> Iterator[str]:
    """The files with most jobs."""
    files = Counter(job.path for job in plan.jobs)
    most = files.most_common(_FILES)
    yield from (f"{number:>6,}  {path}" for path, number in most)
    if len(files) > len(most):
        rest = sum(files.values()) - sum(number for _, number in most)
        yield f"{rest:>6,}  in {count(len(files) - len(most), 'other file')}"


def estimate(plan: Plan) -> str:
    """How long it may take."""
    minutes = max(1, round(len(plan.jobs) * _SECONDS_A_JOB / 60))
    return f"about {count(minutes, 'minute')} with the embedded model on two cores"
