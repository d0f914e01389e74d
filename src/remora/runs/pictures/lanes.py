"""Rows of a timeline: jobs that ran at the same time are below each other."""

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remora.runs.pictures.run_times import JobTime
from remora.runs.pictures.time_axis import Axis


class Bar(NamedTuple):
    """One job, or several short ones that followed each other in a lane."""

    jobs: tuple[JobTime, ...]
    x: float
    end: float


def lanes_of(times: Sequence[JobTime]) -> list[list[JobTime]]:
    """Divide jobs into the fewest lanes, in which no two jobs overlap."""
    lanes: list[list[JobTime]] = []
    busy: list[tuple[float, int]] = []
    free: list[int] = []
    for time in sorted(times, key=lambda time: (time.start, time.end)):
        while busy and busy[0][0] <= time.start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            number = heapq.heappop(free)
        else:
            number = len(lanes)
            lanes.append([])
        lanes[number].append(time)
        heapq.heappush(busy, (time.end, number))
    return lanes


def bars_of(lane: Sequence[JobTime], axis: Axis, least: float) -> Iterator[Bar]:
    """Yield the bars of a lane from left to right, none of which overlaps another.

    Jobs that are narrower than `least` are joined until the bar is at least that wide. A bar has at
    least a width of 1, unless the next one begins earlier.
    """
    group: list[JobTime] = []
    for number, time in enumerate(lane):
        after = lane[number + 1] if number + 1 < len(lane) else None
        group.append(time)
        x, end = axis.x(group[0].start), axis.x(time.end)
        room = axis.right if after is None else axis.x(after.start)
        if after is not None and _is_joined(group, after, axis, least):
            continue
        yield Bar(tuple(group), min(x, max(room - 1, axis.left)), max(end, min(x + 1, room)))
        group = []


def _is_joined(group: Sequence[JobTime], after: JobTime, axis: Axis, least: float) -> bool:
    """Return True if the next job belongs to the same bar."""
    x = axis.x(group[0].start)
    is_narrow = axis.x(group[-1].end) - x < least
    is_next_narrow = axis.x(after.end) - axis.x(after.start) < least
    return is_narrow and is_next_narrow and axis.x(after.end) - x <= 2 * least
