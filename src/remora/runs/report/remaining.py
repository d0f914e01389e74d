"""Which findings nobody mended: what an agent's stream tells of them."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from remora.errors import RemoraError
from remora.memory.events import AgentStart, Event
from remora.runs.records.current_attempt import UNDECIDED
from remora.runs.records.findings import is_lint_code
from remora.runs.records.job_view import JobView
from remora.runs.report.report_model import Finding
from remora.trace.read.reader import read_events, typed_payload
from remora.trace.trace_folder import TraceFolder

_SHAPE = re.compile(r"([A-Z]+[0-9]+) line ([0-9]+): (.*)", re.DOTALL)
"""As the built-in lint agent writes a diagnostic."""
STAYS = (*UNDECIDED, "accepted")
"""Where a change set is in the files, or may come there, what it mends is not left."""


def findings_left(folder: TraceFolder, job: JobView) -> tuple[Finding, ...]:
    """With the lines they had when the run began, as far as the record names them; the others by
    their codes alone."""
    after = job.after if job.review in STAYS else job.before
    if not after:
        return ()
    missing = Counter(after)
    found = []
    with suppress(RemoraError):
        first, last = _diagnostics(folder, job.agent_id)
        left = Counter(_text(line) for line in (last if job.review in STAYS else first))
        for line in first:
            finding = _finding(line)
            if left[_text(line)] and missing[finding.code]:
                left[_text(line)] -= 1
                missing[finding.code] -= 1
                found.append(finding)
    return (*found, *_unnamed(missing))


def _unnamed(missing: Counter[str]) -> Iterator[Finding]:
    for code, number in sorted(missing.items()):
        for _ in range(number):
            where = "the record does not say where" if is_lint_code(code) else ""
            yield Finding(code=code, message=where)


def _diagnostics(folder: TraceFolder, agent_id: str) -> tuple[list[str], list[str]]:
    """The first ones that the agent's packet held, and the last."""
    first: list[str] | None = None
    last: list[str] = []
    for event in read_events(folder.existing_agent(agent_id)):
        shown = _shown(event)
        if shown is not None:
            first = shown if first is None else first
            last = shown
    return first or [], last


def _shown(event: Event) -> list[str] | None:
    if event.type == AgentStart.type:
        data = typed_payload(event)
        shown = data.packet.diagnostics if isinstance(data, AgentStart) else []
        return [str(line) for line in shown] or None
    delta = event.packet_delta
    if delta is None or not isinstance(delta.diagnostics, tuple):
        return None
    return [str(line) for line in delta.diagnostics]


def _finding(line: str) -> Finding:
    shape = _SHAPE.fullmatch(line)
    if shape is None:
        return Finding(code="", message=line)
    return Finding(code=shape[1], message=shape[3], line=int(shape[2]))


def _text(line: str) -> str:
    """A diagnostic without its line, which a change above it moves."""
    finding = _finding(line)
    return f"{finding.code} {finding.message}"
