"""Rows of a timeline: jobs that ran at the same time are below each other."""

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remora.pictures.job_time import JobTime
from remora.pictures.time_axis import Axis


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


def bars_of(lane: Sequence[JobTime], axis: Axis, narrow: float) -> Iterator[Bar]:
    """Yield the bars of a lane from left to right. They do not overlap, and have a width of 1.

    Jobs that are narrower than `narrow` are joined until their bar is at least that wide.
    """
    group: list[JobTime] = []
    for number, time in enumerate(lane):
        group.append(time)
        after = lane[number + 1] if number + 1 < len(lane) else None
        if after is None or not _is_joined(group, after, axis, narrow):
            x = axis.x(group[0].start)
            yield Bar(tuple(group), x, max(axis.x(time.end), x + 1))
            group = []


def _is_joined(group: Sequence[JobTime], after: JobTime, axis: Axis, narrow: float) -> bool:
    """Return True if the next job belongs to the same bar."""
    x = axis.x(group[0].start)
    if axis.x(after.start) < x + 1:
        return True
    is_narrow = axis.x(group[-1].end) - x < narrow
    is_next_narrow = axis.x(after.end) - axis.x(after.start) < narrow
    return is_narrow and is_next_narrow and axis.x(after.end) - x <= 2 * narrow
