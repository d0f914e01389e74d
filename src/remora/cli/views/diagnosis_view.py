"""Shows why an agent failed: the why line, the evidence, and what the budget dropped."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

import click

from remora.cli.app.output import wrap_text, wrapped
from remora.errors import RemoraError
from remora.ids import display_name
from remora.runs.diagnosis.why_line import Diagnosis, why
from remora.runs.records.job_view import JobView
from remora.statuses import WITHOUT_RESULT
from remora.text import count, escape_line
from remora.trace.trace_folder import TraceFolder

_MOST_JOBS, _MOST_CAUSES = 100, 10
"""Jobs of a run whose streams are read, and causes that are shown."""
_MOST_NAMED = 3


def diagnosis_lines(found: Diagnosis, look: str) -> Iterator[str]:
    """Yield the lines of `trace why`. `look` is the command that shows the packet."""
    for line in wrapped(found.cause.sentence):
        yield click.style(line, bold=True)
    for text in _evidence(found):
        yield from wrapped(f"  {text}", "    ")
    if found.cause.turn is not None:
        yield f"next: {look}"


def why_lines(folder: TraceFolder, jobs: Iterable[JobView], width: int | None) -> Iterator[str]:
    """Yield each cause for which jobs failed once, after an empty line and a heading."""
    failed = [job for job in jobs if job.status in WITHOUT_RESULT and not job.damaged]
    names = _jobs_by_cause(folder, failed[:_MOST_JOBS])
    if names:
        yield ""
        yield "why:"
    for cause, (first, *others) in islice(names.items(), _MOST_CAUSES):
        more = f" and {count(len(others), 'other job')}" if others else ""
        yield from wrap_text(f"  {escape_line(first)}{more}: {escape_line(cause)}", width, "    ")
    shown = sum(map(len, islice(names.values(), _MOST_CAUSES)))
    if len(failed) > shown:
        yield f"  and {count(len(failed) - shown, 'more job')}"


def _jobs_by_cause(folder: TraceFolder, jobs: Iterable[JobView]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for job in jobs:
        with suppress(RemoraError):  # a stream that is missing has no cause
            sentence = why(folder, job.agent_id).cause.sentence
            names.setdefault(sentence, []).append(f"{job.operation} {display_name(job.node_id)}")
    return names


def _evidence(found: Diagnosis) -> Iterator[str]:
    for one in found.cause.evidence:
        event = "" if one.seq is None else f", event {one.seq}"
        yield f"turn {one.turn}{event}: {one.text}"
    if found.dropped:
        names = ", ".join(one.name for one in found.dropped[:_MOST_NAMED])
        left = len(found.dropped) - _MOST_NAMED
        others = f" and {count(left, 'more part')}" if left > 0 else ""
        yield f"turn {found.cause.turn}: the budget dropped {names}{others}"
