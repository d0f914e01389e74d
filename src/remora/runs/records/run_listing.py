"""List of a project's runs, created without reading agent streams."""

from contextlib import suppress
from pathlib import Path

import msgspec

from remora.errors import RemoraError
from remora.memory.events import RunStart
from remora.runs.records.current_attempt import CONFLICT, PENDING, CurrentAttempts
from remora.trace.read.reader import (
    DAMAGED,
    is_being_written,
    read_events,
    run_status,
    typed_payload,
)
from remora.trace.trace_folder import TraceFolder, stream_id


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `runs --json`, with the numbers of pending, accepted and conflicting change sets.

    `jobs` is the number of planned jobs. If a run cannot be read completely, its status is
    `damaged` and its change sets are not counted.
    """

    run_id: str
    started: str
    status: str
    jobs: int
    pending: int = 0
    accepted: int = 0
    conflicts: int = 0


def list_run_lines(folder: TraceFolder, *, skip: str | None = None) -> list[RunLine]:
    """Return all runs except `skip`, oldest first.

    Files that do not begin with `run_start` are ignored.
    """
    paths = (path for path in folder.run_streams() if stream_id(path) != skip)
    found = [line for path in paths if (line := _line(path))]
    return sorted(found, key=lambda run: (run.started, run.run_id))


def rejection_feedback(folder: TraceFolder, *, before: str) -> dict[tuple[str, str], str]:
    """Return the feedback on rejected change sets of the runs before a run, by operation and node.

    A later verdict on a change set of the same job replaces it.
    """
    found: dict[tuple[str, str], str] = {}
    for path in sorted(folder.run_streams(), key=stream_id):
        if stream_id(path) >= before:
            break
        counting = CurrentAttempts()
        with suppress(RemoraError):
            for event in read_events(path):
                counting.add(typed_payload(event))
        for start in counting.starts():
            verdict = counting.verdicts.get(start.agent_id)
            key = start.operation, start.node_id
            if verdict is not None:
                found[key] = (verdict.verdict == "rejected" and verdict.feedback) or ""
    return {key: text for key, text in found.items() if text}


def _line(path: Path) -> RunLine | None:
    line, is_written = None, is_being_written(path)
    try:
        events = read_events(path)
        first = next(events, None)
        start = typed_payload(first) if first is not None else None
        if first is None or not isinstance(start, RunStart):
            return None
        planned = start.plan.get("jobs")
        jobs = len(planned) if isinstance(planned, list) else 0
        line = RunLine(run_id=stream_id(path), started=first.timestamp, status=DAMAGED, jobs=jobs)
        counting = CurrentAttempts()
        for event in events:
            counting.add(typed_payload(event))
        states = [counting.review(start.agent_id) for start in counting.starts()]
        return msgspec.structs.replace(
            line,
            status=run_status(is_written=is_written, ended=counting.ended),
            pending=states.count(PENDING),
            accepted=states.count("accepted"),
            conflicts=states.count(CONFLICT),
        )
    except RemoraError:
        return line
