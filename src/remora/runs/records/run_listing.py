"""List of a project's runs, created without reading agent streams."""

from collections.abc import Sequence
from contextlib import suppress
from os.path import commonpath
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from remora.errors import NotFound, RemoraError
from remora.ids import display_name, run_order
from remora.memory.events import RunStart
from remora.runs.records.current_attempt import CurrentAttempts
from remora.statuses import (
    ACCEPTED,
    CONFLICT,
    DAMAGED,
    FAILURES,
    INTERRUPTED,
    PENDING,
    REJECTED,
    REVERTED,
    RUNNING,
    results_of,
    shown_status,
)
from remora.text import some_of
from remora.trace.read.reader import (
    decode_part,
    is_being_written,
    read_events,
    run_status,
    typed_payload,
)
from remora.trace.trace_folder import TraceFolder, stream_id

_NEWEST = 3
"""Runs that are read for the time of the gates."""
_NOT_COUNTED: dict[str, Any] = dict.fromkeys(
    ("failed", "pending", "accepted", "rejected", "reverted", "conflicts"), 0
) | {"results": {}}
"""The counts of a run that cannot be read completely."""


class _Job(msgspec.Struct, frozen=True, gc=False):
    """A planned job, of which only its names are decoded."""

    path: Any = ""
    node_id: Any = ""


class _Plan(msgspec.Struct, frozen=True):
    jobs: list[_Job] = []
    operations: Any = ()
    rules: Any = ""


class _Config(msgspec.Struct, frozen=True):
    model_name: Any = ""


class _Start(msgspec.Struct, frozen=True):
    plan: _Plan = _Plan()
    config: _Config = _Config()


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `runs --json`, with the numbers of change sets in each state of review."""

    run_id: str
    started: str
    """The time of the first event, or empty if it cannot be read."""
    status: str
    """The status of the run; a damaged run is not counted further."""
    jobs: int
    """The number of planned jobs."""
    operations: tuple[str, ...] = ()
    """The planned operations."""
    model: str = ""
    """The name of the model, or `none`."""
    failed: int = 0
    """The number of jobs that failed or ended with an error."""
    pending: int = 0
    accepted: int = 0
    rejected: int = 0
    reverted: int = 0
    conflicts: int = 0
    results: dict[str, int] = {}
    """The numbers of jobs by their verdict, or else by their status, or `not_started`."""
    where: str = ""
    """What was planned: up to three functions or files, or else the folder that contains all of the
    files, or the first folders."""
    rules: str = ""
    """The rules that were checked, in words."""

    @property
    def is_open(self) -> bool:
        """True if change sets can be accepted or rejected."""
        return bool(self.undecided)

    @property
    def undecided(self) -> int:
        """The number of change sets that can be accepted or rejected."""
        return self.pending + self.conflicts


def place_text(nodes: Sequence[tuple[str, str]]) -> str:
    """Return the names of up to three nodes, given with their files, or else of their folders."""
    if len(nodes) <= 3:
        return ", ".join(display_name(key) for key, _ in nodes)
    files, common = dict.fromkeys(path for _, path in nodes), ""
    with suppress(ValueError):  # an untrusted record has others
        common = commonpath(files)
    return common or some_of([*dict.fromkeys(path.split("/")[0] for path in files)], 3)


def list_run_lines(folder: TraceFolder, some: slice | None = None) -> list[RunLine]:
    """Return all runs, or a slice of their streams by name, oldest first.

    Files that do not begin with `run_start` are ignored, unless they are named like damaged runs.
    """
    lines = []
    for path in [*folder.run_streams()][some or slice(None)]:
        read = read_run_line(path)
        if read is not None:
            is_damaged = folder.copy_problem(path)
            lines.append(
                replace(read[0], status=DAMAGED, **_NOT_COUNTED) if is_damaged else read[0]
            )
    return sorted(lines, key=lambda line: run_order(line.run_id, line.started))


def last_gate_seconds(folder: TraceFolder) -> float | None:
    """Return how long the project's gates took in the newest runs, or None if none judged there."""
    for path in reversed([*folder.run_streams()][-_NEWEST:]):
        if (read := read_run_line(path)) is not None and read[1].gates is not None:
            return read[1].gates.seconds
    return None


def read_run_line(path: Path) -> tuple[RunLine, CurrentAttempts] | None:
    """Return the entry of a run and its current attempts, or None if it has no `run_start`."""
    line = RunLine(run_id=stream_id(path), started="", status=DAMAGED, jobs=0)  # until it is read
    is_written, counting = is_being_written(path), CurrentAttempts()
    try:
        events = read_events(path)
        first = next(events, None)
        if first is None or first.type != RunStart.type:
            return None
        start = decode_part(first, _Start)
        operations = start.plan.operations  # an untrusted record may contain anything
        line = replace(
            line,
            started=first.timestamp,
            jobs=len(start.plan.jobs),
            where=place_text([(str(job.node_id), str(job.path)) for job in start.plan.jobs]),
            rules=str(start.plan.rules),
            operations=tuple(map(str, operations)) if isinstance(operations, list) else (),
            model=str(start.config.model_name),
        )
        counting.last = first.timestamp
        for event in events:
            counting.last = event.timestamp
            counting.add(typed_payload(event))
        ends = [counting.ends.get(start.agent_id) for start in counting.starts()]
        states = [counting.review(start.agent_id) for start in counting.starts()]
        failed = sum(end is not None and end.status in FAILURES for end in ends)
        has_failed = 0 < failed == line.jobs
        open_status = RUNNING if is_written else INTERRUPTED
        statuses = [shown_status(end.status) if end else open_status for end in ends]
        shown = (state or status for state, status in zip(states, statuses, strict=True))
        line = replace(
            line,
            status=run_status(is_written=is_written, ended=counting.ended, has_failed=has_failed),
            failed=failed,
            pending=states.count(PENDING),
            accepted=states.count(ACCEPTED),
            rejected=states.count(REJECTED),
            reverted=states.count(REVERTED),
            conflicts=states.count(CONFLICT),
            results=results_of(shown, line.jobs),
        )
    except RemoraError as error:
        if isinstance(error, NotFound) or not (line.started or path.name[:8].isdigit()):
            return None  # it was removed, or its name does not begin with a date like that of a run
    return line, counting
