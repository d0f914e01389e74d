"""All runs of a project, each in one line, from the runs' own streams alone."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from remora.errors import RemoraError
from remora.memory.events import Event, RunStart
from remora.runs.records.current_attempt import CONFLICT, PENDING, Counting
from remora.trace.read.reader import DAMAGED, read_events, stream_status, typed_payload
from remora.trace.trace_folder import TraceFolder, stream_id


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run and how many of its change sets wait, were accepted, or met a conflict.

    `jobs` counts pairs of node and operation as planned. A run whose stream begins as one and cannot be
    read to its end has the status `damaged`, and nothing of it is counted.
    """

    run_id: str
    started: str
    status: str
    jobs: int
    pending: int = 0
    accepted: int = 0
    conflicts: int = 0


def listed_runs(folder: TraceFolder) -> list[RunLine]:
    """Every run, oldest first; what lies among them and never began as a run is passed over."""
    found = [line for path in folder.run_streams() if (line := _line(path))]
    return sorted(found, key=lambda run: (run.started, run.run_id))


def _line(path: Path) -> RunLine | None:
    line = None
    try:
        events = read_events(path)
        first = next(events, None)
        start = typed_payload(first) if first is not None else None
        if first is None or not isinstance(start, RunStart):
            return None
        planned = start.plan.get("jobs")
        jobs = len(planned) if isinstance(planned, list) else 0
        line = RunLine(run_id=stream_id(path), started=first.timestamp, status=DAMAGED, jobs=jobs)
        states = _review_states(events)
        return msgspec.structs.replace(
            line,
            status=stream_status(path),
            pending=states.count(PENDING),
            accepted=states.count("accepted"),
            conflicts=states.count(CONFLICT),
        )
    except RemoraError:
        return line


def _review_states(events: Iterable[Event]) -> list[str]:
    """Of the attempt of each job that counts, if it has one: `pending`, or the last verdict."""
    counting = Counting()
    for event in events:
        counting.see(typed_payload(event))
    states = [counting.review(start.agent_id) for start in counting.starts()]
    return [state for state in states if state]
