"""Shows why an agent failed: the why line, the evidence, and the facts about the failing call."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

import click

from remora.cli.app.output import terminal_width, wrap_text
from remora.errors import RemoraError
from remora.ids import display_name
from remora.runs.diagnosis.diagnosis import MAX_EVIDENCE, Diagnosis, why
from remora.runs.diagnosis.packet_places import Argument
from remora.runs.records.job_view import JobView
from remora.runs.records.results import FAILED
from remora.text import count, escape_line
from remora.trace.trace_folder import TraceFolder

_MOST_JOBS = 10
"""Jobs of a run whose why line is shown."""
_MOST_NAMED = 3
_ABOUT_CALLS = frozenset(
    {
        "stale_fact",
        "tool_crash",
        "refused_edit",
        "tool_error",
        "argument_not_in_packet",
        "undecided",
        "wrong_choice",
    }
)
"""Causes for which it matters whether the packet had the arguments of the call."""


def diagnosis_lines(found: Diagnosis, look: str) -> Iterator[str]:
    """Yield the lines of `trace why`. `look` is the command that shows the packet."""
    width = terminal_width()
    for line in wrap_text(escape_line(found.cause.sentence), width):
        yield click.style(line, bold=True)
    more = [*_evidence(found), *_facts(found)]
    for text in more[:MAX_EVIDENCE]:
        yield from wrap_text(escape_line(f"  {text}"), width, "    ")
    if found.cause.turn is not None:
        yield f"next: {look}"


def why_lines(folder: TraceFolder, jobs: Iterable[JobView], width: int | None) -> Iterator[str]:
    """Yield the why line of the first jobs that failed, after an empty line and a heading."""
    failed = [job for job in jobs if job.status in FAILED and not job.damaged]
    found = [*_sentences(folder, failed[:_MOST_JOBS])]
    if found:
        yield ""
        yield "why:"
        for line in found:
            yield from wrap_text(f"  {escape_line(line)}", width, "    ")
    if len(failed) > _MOST_JOBS:
        yield f"  and {count(len(failed) - _MOST_JOBS, 'more job')}"


def _sentences(folder: TraceFolder, jobs: Iterable[JobView]) -> Iterator[str]:
    for job in jobs:
        with suppress(RemoraError):  # a stream that is missing has no cause
            sentence = why(folder, job.agent_id).cause.sentence
            yield f"{job.operation} {display_name(job.node_id)}: {sentence}"


def _evidence(found: Diagnosis) -> Iterator[str]:
    for one in found.cause.evidence:
        event = "" if one.seq is None else f", event {one.seq}"
        yield f"turn {one.turn}{event}: {one.text}"


def _facts(found: Diagnosis) -> Iterator[str]:
    """Yield what the model saw of the failing call's arguments, and what the budget removed."""
    turn = found.cause.turn
    for one in found.arguments if found.cause.kind in _ABOUT_CALLS else ():
        yield f"turn {turn}: argument {one.name}={one.value} {_where(one)}"
    if found.dropped:
        names = ", ".join(one.name for one in found.dropped[:_MOST_NAMED])
        left = len(found.dropped) - _MOST_NAMED
        others = f" and {count(left, 'more part')}" if left > 0 else ""
        yield f"turn {turn}: the budget dropped {names}{others}"
    first = found.first_error
    known = {one.seq for one in found.cause.evidence}
    if found.cause.turn is not None and first is not None and first.seq not in known:
        yield f"turn {first.turn}, event {first.seq}: the first error: {first.text}"


def _where(one: Argument) -> str:
    if not one.in_packet:
        return "was written by the model" if one.written else "was not in the packet"
    return f"was in the packet: {', '.join(place.name for place in one.places[:_MOST_NAMED])}"
