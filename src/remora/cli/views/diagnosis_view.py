"""Shows why an agent failed: the why line, the evidence, and what the budget dropped."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import click

from remora.cli.app.output import wrap_text, wrapped
from remora.cli.views.diff_view import styled_lines
from remora.errors import RemoraError
from remora.ids import display_name
from remora.runs.diagnosis.why_line import Diagnosis, why
from remora.runs.records.job_view import JobView
from remora.statuses import WITHOUT_RESULT, proven_text
from remora.text import count, escape_line
from remora.trace.trace_folder import TraceFolder

_MOST_JOBS, _MOST_CAUSES = 100, 10
"""Jobs of a run whose streams are read, and causes that are shown."""
_MOST_NAMED = 3


def diagnosis_lines(found: Diagnosis, look: str) -> Iterator[str]:
    """Yield the lines of `trace why`. `look` is the command that shows the packet."""
    for line in wrapped(found.cause.sentence):
        yield click.style(line, bold=True)
    for fact in found.cause.evidence:
        event = "" if fact.seq is None else f", event {fact.seq}"
        yield from wrapped(f"  turn {fact.turn}{event}: {fact.text}", "    ")
    if found.dropped:
        names = ", ".join(part.name for part in found.dropped[:_MOST_NAMED])
        left = len(found.dropped) - _MOST_NAMED
        others = f" and {count(left, 'more part')}" if left > 0 else ""
        text = f"  turn {found.cause.turn}: the budget dropped {names}{others}"
        yield from wrapped(text, "    ")
    if found.cause.turn is not None:
        yield f"next: {look}"


def origin_lines(origin: dict[str, Any], following: Iterable[str]) -> Iterator[str]:
    """Yield the lines of `trace why PATH:LINE`. `following` are the commands that show more."""
    job, time = origin["job"], origin["accepted"][:16].replace("T", " ")
    where = "on the page" if origin["surface"] == "web" else "on a command line"
    where = f"onto the branch {job['branch']}" if job["branch"] else where
    what = f"{job['operation']} wrote {origin['line']}: {origin['hunk']['label']}"
    yield from (click.style(line, bold=True) for line in wrapped(what))
    yield f"  accepted {where}, {time} UTC, in run {origin['run_id']}"
    chosen = "a rule" if origin["decided_by"] == "rule" else origin["model"]
    call = f"turn {origin['turn']} called {origin['call']}, chosen by {chosen}"
    text = call if origin["call"] else "a user or an earlier attempt wrote it"
    yield from wrapped(f"  job {job['agent_id']} on {display_name(job['node_id'])}: {text}", "    ")
    yield f"  {proven_text(job['status'], job['proof'])} by {', '.join(origin['gates']) or 'its rules'}"
    yield from styled_lines(origin["hunk"]["diff"])
    yield from wrapped(f"next: {', '.join(f'`{command}`' for command in following)}")


def why_lines(folder: TraceFolder, jobs: Iterable[JobView], width: int | None) -> Iterator[str]:
    """Yield each cause for which jobs failed once, after an empty line and a heading."""
    failed = [job for job in jobs if job.status in WITHOUT_RESULT and not job.stream.damaged]
    causes: dict[str, list[str]] = {}
    for job in failed[:_MOST_JOBS]:
        with suppress(RemoraError):  # a stream that is missing has no cause
            sentence = why(folder, job.agent_id).cause.sentence
            causes.setdefault(sentence, []).append(f"{job.operation} {display_name(job.node_id)}")
    if causes:
        yield from ("", "why:")
    told = 0
    for cause, (first, *others) in islice(causes.items(), _MOST_CAUSES):
        told += 1 + len(others)
        more = f" and {count(len(others), 'other job')}" if others else ""
        yield from wrap_text(f"  {escape_line(first)}{more}: {escape_line(cause)}", width, "    ")
    if len(failed) > told:
        yield f"  and {count(len(failed) - told, 'more job')}"
