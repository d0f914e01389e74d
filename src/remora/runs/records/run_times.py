"""When the jobs of a run worked, and on what, read from the run's streams."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import pairwise

import msgspec

from remora.errors import DiskError, NotFound, StreamDamaged
from remora.memory.events import (
    Event,
    JobEnd,
    JobStart,
    ModelRequest,
    Review,
    SubmitResult,
    ToolCalled,
    ToolResulted,
)
from remora.pictures.job_time import Activity, JobTime, Span
from remora.statuses import CONFLICT, INTERRUPTED, RUNNING, shown_status
from remora.trace.read.reader import is_being_written, read_events, typed_payload
from remora.trace.trace_folder import TraceFolder


def read_job_times(folder: TraceFolder, run_id: str) -> tuple[JobTime, ...]:
    """Return the times of all attempts of a run, in order of their start.

    Of an attempt whose stream is damaged or missing, only what the run's stream says is known.
    Raises NotFound if the run does not exist, and StreamDamaged if its stream is damaged.
    """
    path = folder.existing_run(run_id)
    is_running = is_being_written(path)
    stretches = _stretches(read_events(path))
    times = [
        time
        for agent_id, found in stretches.items()
        for time in _with_spans(found, _agent_events(folder, agent_id), is_running=is_running)
    ]
    return tuple(sorted(times, key=lambda time: (time.start, time.agent_id)))


class _Stretch(msgspec.Struct):
    """From a `job_start` to the `job_end`, or to the next `job_start` if there is none."""

    begin: JobStart
    start: float
    end: float | None = None
    status: str = INTERRUPTED
    verdict: str = ""


def _stretches(events: Iterable[Event]) -> dict[str, list[_Stretch]]:
    found: dict[str, list[_Stretch]] = {}
    for event in events:
        if event.type not in (JobStart.type, JobEnd.type, Review.type):
            continue
        data, now = typed_payload(event), _seconds(event)
        if now is None:
            continue
        if isinstance(data, JobStart):
            found.setdefault(data.agent_id, []).append(_Stretch(data, now))
        elif isinstance(data, JobEnd) and data.agent_id in found:
            last = found[data.agent_id][-1]
            last.end, last.status = max(last.start, now), shown_status(data.status)
        elif isinstance(data, Review) and data.agent_id in found:
            found[data.agent_id][-1].verdict = data.verdict
    return found


def _agent_events(folder: TraceFolder, agent_id: str) -> Iterator[tuple[str, float]]:
    """Yield the types of the readable events of an agent with their times."""
    with suppress(NotFound, StreamDamaged, DiskError):
        for event in read_events(folder.existing_agent(agent_id)):
            if (now := _seconds(event)) is not None:
                yield event.type, now


def _seconds(event: Event) -> float | None:
    try:
        return datetime.fromisoformat(event.timestamp).timestamp()
    except (ValueError, OverflowError):  # a stream that somebody else wrote
        return None


def _with_spans(
    stretches: list[_Stretch], events: Iterable[tuple[str, float]], *, is_running: bool
) -> Iterator[JobTime]:
    """Yield the stretches of an attempt with what it waited for."""
    ends = [*(stretch.start for stretch in stretches[1:]), float("inf")]
    timed = iter(events)
    ahead = next(timed, None)
    for number, (stretch, limit) in enumerate(zip(stretches, ends, strict=True), 1):
        within: list[tuple[str, float]] = []
        while ahead is not None and ahead[1] < limit:
            within.append(ahead)
            ahead = next(timed, None)
        last = max([stretch.start, *(now for _, now in within)])
        status = CONFLICT if stretch.verdict == CONFLICT else stretch.status
        is_open = is_running and stretch.end is None and number == len(stretches)
        yield JobTime(
            agent_id=stretch.begin.agent_id,
            operation=stretch.begin.operation,
            node_id=stretch.begin.node_id,
            attempt=stretch.begin.attempt,
            status=RUNNING if is_open else status,
            start=stretch.start,
            end=last if stretch.end is None else stretch.end,
            spans=tuple(_spans(within)),
        )


def _spans(events: Iterable[tuple[str, float]]) -> Iterator[Span]:
    """Yield what an agent waited for between two events."""
    for (before, then), (after, now) in pairwise(events):
        activity = _activity(before, after)
        if activity is not None and now > then:
            yield Span(activity, then, now)


def _activity(before: str, after: str) -> Activity | None:
    """Return what an agent waited for between events of two types."""
    if before == ModelRequest.type:
        return "model"
    if after == SubmitResult.type:
        return "checks"
    is_tool = before == ToolCalled.type and after == ToolResulted.type
    return "tools" if is_tool else None
