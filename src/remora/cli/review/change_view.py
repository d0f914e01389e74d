"""Shows a change to a reviewer: its heading, the agent's actions and the diff."""

from collections.abc import Iterator

import click
from msgspec import UNSET

from remora.cli.app.output import color_word, fit_line, wrapped
from remora.cli.views.diff_view import styled_lines
from remora.cli.views.job_view import conflict_lines, turns_text
from remora.ids import display_name
from remora.memory.events import Event
from remora.runs.project import Project, ProjectRecords
from remora.runs.records.change_set_files import job_diff
from remora.runs.records.findings import work_text
from remora.runs.records.job_view import JobView
from remora.runs.records.results import job_document
from remora.statuses import PENDING
from remora.text import count, escape_line
from remora.trace.read.agent_turns import agent_turns
from remora.trace.read.event_summary import summarize_event
from remora.trace.read.reader import read_events

_LEAST_DIFF = 6
"""Lines of a diff that a small screen shows (decision)."""
_MAX_ACTIONS = 6
"""Number of most recent turns whose actions are shown by default."""


def change_set_lines(
    project: Project, job: JobView, place: str, *, most: int | None = None
) -> Iterator[str]:
    """Yield a heading, the most recent actions and the diff, in at most `most` lines.

    `place` is the position of the change set, such as `3/9`. At least `_LEAST_DIFF` lines of the
    diff are shown.
    """
    head, lines = [*_head_lines(project, job, place)], styled_lines(job_diff(project, job))
    shown = len(lines)
    if most is not None and len(head) + len(lines) + 1 > most:
        shown = max(_LEAST_DIFF, most - len(head) - 2)
    yield from (*head, *lines[:shown])
    if len(lines) > shown:
        yield click.style(f"… {count(len(lines) - shown, 'more line')}: press d", dim=True)
    yield ""


def _head_lines(project: Project, job: JobView, place: str) -> Iterator[str]:
    name = escape_line(display_name(job.node_id))
    yield click.style(fit_line(f"[{place}] {job.operation} {name}"), bold=True)
    document = job_document(job)
    facts = [work_text(document), turns_text(document)]
    yield from wrapped("  " + " · ".join(filter(None, facts)), "  ")
    if job.review.state != PENDING:
        yield "  " + color_word(job.review.state)
        for reason in conflict_lines(document):
            yield from wrapped(f"  {reason}", "  ")
    for reason in job.proposal.reasons:
        yield from wrapped(f"  {reason}", "  ")
    yield from action_lines(project, job, most=_MAX_ACTIONS)
    yield ""


def action_lines(project: ProjectRecords, job: JobView, most: int | None = None) -> Iterator[str]:
    """Yield each call, its decider and its result for the last `most` turns (default: all)."""
    events = read_events(project.trace.existing_agent(job.agent_id))
    turns = [turn for turn in agent_turns(events) if turn.calls or turn.results]
    shown = turns if most is None else turns[-most:]
    if len(shown) < len(turns):
        yield click.style(
            f"     … {count(len(turns) - len(shown), 'earlier turn')}: press w", dim=True
        )
    for turn in shown:
        calls = [f"{turn.number:>4} {summarize_event(step.event)}" for step in turn.calls]
        results = [f"     → {_result_text(result)}" for result in turn.results]
        for line in (*calls, *results):
            yield click.style(fit_line(escape_line(line)), dim=True)


def _result_text(event: Event) -> str:
    """Return the summary of a call's result, or its outcome if there is no summary."""
    action = event.packet_delta.add_action if event.packet_delta is not None else UNSET
    return summarize_event(event) if action is UNSET else f"{action.summary} ({action.outcome})"
