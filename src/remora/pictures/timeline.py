"""The timeline of a run: its jobs in lanes, and what they waited for."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from markupsafe import Markup

from remora.ids import display_name
from remora.pictures.figure import WIDTH, Frame, Key, Table, clipped, figure
from remora.pictures.job_time import ACTIVITIES, Activity, JobTime
from remora.pictures.markup import element, link
from remora.pictures.time_axis import Axis, duration_text, make_axis, ticks
from remora.text import count


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


_STATES = {
    "verified": ("state-good", "✓", "verified"),
    "conflict": ("state-conflict", "≠", "conflict"),
    "no_change": ("state-quiet", "=", "no change"),
    "failed": ("state-warn", "✗", "failed"),
    "error": ("state-bad", "!", "error"),
    "interrupted": ("state-warn", "‖", "interrupted"),
    "running": ("state-wait", "…", "running"),
}
_OTHER = ("state-quiet", "?", "other")
_ACTIVITIES: dict[Activity, str] = {
    "model": "waiting for the model",
    "tools": "running tools",
    "checks": "verification",
}
_LEFT, _RIGHT, _TOP = 34.0, WIDTH - 6.0, 24.0
_CLOCK_WIDTH, _LABEL_WIDTH = 80.0, 66.0
_NAME_WIDTH = 70.0
"""Least width of a bar with a name. A few letters do not identify a job."""
_MOST_LANES, _MOST_ROWS = 32, 200


class _Size(NamedTuple):
    """Heights of a bar, of each track below it and of the lane, and the least width of a bar."""

    bar: float
    track: float
    lane: float
    narrow: float


_LARGE, _SMALL = _Size(20, 4, 40, 6), _Size(10, 2, 20, 14)
_MANY_LANES = 8

Href = Callable[[JobTime], str]


def timeline(times: Sequence[JobTime], *, href: Href | None = None) -> Markup:
    """Return the picture of a run's times. `href` returns the address of a job's page.

    The result is empty if no job has begun.
    """
    if not times:
        return Markup("")
    axis = make_axis(((time.start, time.end) for time in times), _LEFT, _RIGHT - 1)
    lanes = lanes_of(times)
    shown = lanes[:_MOST_LANES]
    size = _LARGE if len(shown) <= _MANY_LANES else _SMALL
    bars = [list(bars_of(lane, axis, size.narrow)) for lane in shown]
    bottom = _TOP + size.lane * len(shown)
    frame = Frame(
        text=_text(times, lanes, bars, axis),
        keys=_keys(times),
        table=_table(times),
        has_links=href is not None,
    )
    drawing = [
        *_grid(axis, bottom),
        *(
            part
            for number, lane in enumerate(bars)
            for part in _lane(number, lane, axis, size, href)
        ),
        *_cuts(axis, bottom),
    ]
    return figure(frame, bottom + 20, drawing)


def _text(
    times: Sequence[JobTime], lanes: Sequence[object], bars: Sequence[Sequence[Bar]], axis: Axis
) -> str:
    """Describe the run, e.g. `4 jobs in 2 lanes, 34 s: 61% waiting for the model`."""
    total = sum(time.seconds for time in times) or 1.0
    shares = [
        f"{sum(time.waited(activity) for time in times) / total:.0%} {what}"
        for activity, what in _ACTIVITIES.items()
    ]
    worked = sum(stretch.end - stretch.start for stretch in axis.stretches)
    text = f"{count(len(times), 'job')} in {count(len(lanes), 'lane')}, {duration_text(worked)}"
    text += f". Of the jobs' time: {', '.join(shares)}, and the rest preparation."
    if axis.cuts:
        pauses = duration_text(sum(cut.seconds for cut in axis.cuts))
        text += f" {count(len(axis.cuts), 'pause')} of {pauses} not drawn to scale."
    joined = [len(bar.jobs) for lane in bars for bar in lane if len(bar.jobs) > 1]
    if joined:
        text += f" A narrow bar shows up to {max(joined)} jobs."
    if len(lanes) > _MOST_LANES:
        text += f" {len(lanes) - _MOST_LANES:,} more lanes are not shown."
    return text


def _keys(times: Sequence[JobTime]) -> list[Key]:
    counts = Counter(_state(time) for time in times)
    states = [
        Key(kind, mark, f"{name}: {counts[kind, mark, name]:,}")
        for kind, mark, name in (*_STATES.values(), _OTHER)
        if counts[kind, mark, name]
    ]
    places = ("first", "second", "third")
    waits = [
        Key(f"activity-{activity}", "", f"{what} ({place} line below a bar)")
        for (activity, what), place in zip(_ACTIVITIES.items(), places, strict=True)
        if any(time.waited(activity) for time in times)
    ]
    return [*states, *waits]


def _table(times: Sequence[JobTime]) -> Table:
    longest = sorted(times, key=lambda time: -time.seconds)[:_MOST_ROWS]
    rows = [
        (
            _name(time),
            _state(time)[2],
            _clock(time.start, "%Y-%m-%d %H:%M:%S"),
            duration_text(time.seconds),
            *(duration_text(time.waited(activity)) for activity in ACTIVITIES),
        )
        for time in sorted(longest, key=lambda time: time.start)
    ]
    heads = ("job", "state", "began (UTC)", "time", "model", "tools", "verification")
    left = len(times) - len(rows)
    return Table(heads, rows, f"{left:,} shorter ones are not listed." if left else "")


def _grid(axis: Axis, bottom: float) -> Iterator[Markup]:
    """Yield the clock at the beginning of each stretch, and the ticks."""
    first, last = (
        _clock(each.start, "%Y-%m-%d") for each in (axis.stretches[0], axis.stretches[-1])
    )
    form = "%H:%M:%S" if first == last else "%m-%d %H:%M"
    free = 0.0
    for stretch in axis.stretches:
        yield _line(stretch.x, _TOP - 6, bottom, "axis")
        if stretch.x >= free:
            x = min(stretch.x, _RIGHT - _CLOCK_WIDTH)
            yield element("text", _clock(stretch.start, form), x=x, y=_TOP - 10, class_="label")
            free = x + _CLOCK_WIDTH
    free = 0.0
    for x, seconds in ticks(axis):
        yield _line(x, _TOP, bottom + 2, "grid")
        if x - _LABEL_WIDTH / 2 >= free:
            place = min(x, _RIGHT - _LABEL_WIDTH / 2)
            text = duration_text(seconds)
            yield element(
                "text", text, x=place, y=bottom + 14, class_="label", text_anchor="middle"
            )
            free = place + _LABEL_WIDTH / 2


def _line(x: float, top: float, bottom: float, kind: str) -> Markup:
    return element("path", d=f"M{x:.1f} {top:.1f}V{bottom:.1f}", class_=kind)


def _cuts(axis: Axis, bottom: float) -> Iterator[Markup]:
    for cut in axis.cuts:
        text = f"a pause of {duration_text(cut.seconds)}"
        middle = cut.x + cut.width / 2
        yield element(
            "g",
            element("title", text),
            element(
                "rect", x=cut.x, y=_TOP, width=cut.width, height=bottom - _TOP, class_="pause"
            ),
            element("text", "≈" if cut.width > 12 else "", x=middle, y=(_TOP + bottom) / 2 + 5,
                    class_="label", text_anchor="middle"),
        )  # fmt: skip


def _lane(
    number: int, bars: Sequence[Bar], axis: Axis, size: _Size, href: Href | None
) -> Iterator[Markup]:
    y = _TOP + number * size.lane + 4
    label = f"{number + 1}"
    yield element("text", label, x=_LEFT - 8, y=y + size.bar - 4, class_="label", text_anchor="end")
    for bar in bars:
        shape = element("g", element("title", _bar_title(bar)), *_bar(bar, axis, size, y))
        only = bar.jobs[0] if len(bar.jobs) == 1 else None
        yield shape if href is None or only is None else link(href(only), shape)


def _bar(bar: Bar, axis: Axis, size: _Size, y: float) -> Iterator[Markup]:
    """Yield the states of a bar's jobs, by their share, and below what the jobs waited for."""
    width, below = max(bar.end - bar.x, 0.5), y
    counts = Counter(_state(time) for time in bar.jobs)
    for (kind, _, _), number in counts.items():
        height = size.bar * number / len(bar.jobs)
        yield element("rect", x=bar.x, y=below, width=width, height=height, class_=kind)
        below += height
    if len(bar.jobs) == 1 and size is _LARGE:
        yield from _bar_label(bar.jobs[0], bar.x, width, y + size.bar - 6)
    for number, activity in enumerate(ACTIVITIES):
        top = y + size.bar + 1 + number * size.track
        for start, end in _waits(bar, axis, activity):
            yield element(
                "rect", x=start, y=top, width=end - start, height=size.track,
                class_=f"activity-{activity}",
            )  # fmt: skip


def _bar_label(time: JobTime, x: float, width: float, y: float) -> Iterator[Markup]:
    mark = _state(time)[1]
    if width >= 14:
        name = clipped(_short_name(time), width - 30) if width >= _NAME_WIDTH else ""
        yield element("text", f"{mark} {name}".strip(), x=x + 4, y=y, class_="mark")


def _waits(bar: Bar, axis: Axis, activity: Activity) -> Iterator[tuple[float, float]]:
    """Yield the places where a job waited for one thing, or the share of several jobs."""
    if len(bar.jobs) > 1:
        total = sum(time.seconds for time in bar.jobs)
        share = sum(time.waited(activity) for time in bar.jobs) / total if total else 0.0
        if share > 0:
            yield bar.x, bar.x + (bar.end - bar.x) * min(share, 1.0)
        return
    last: tuple[float, float] | None = None
    for span in (span for span in bar.jobs[0].spans if span.activity == activity):
        start = min(max(axis.x(span.start), bar.x), bar.end)
        end = min(max(axis.x(span.end), start), bar.end)
        if last is not None and start - last[1] < 1:
            last = last[0], max(end, last[1])
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last


def _bar_title(bar: Bar) -> str:
    if len(bar.jobs) == 1:
        time = bar.jobs[0]
        waits = [
            f"{what} {duration_text(time.waited(activity))}"
            for activity, what in _ACTIVITIES.items()
            if time.waited(activity)
        ]
        return ", ".join(
            [f"{_name(time)}: {_state(time)[2]} in {duration_text(time.seconds)}", *waits]
        )
    counts = Counter(_state(time)[2] for time in bar.jobs)
    states = ", ".join(f"{number} {state}" for state, number in counts.items())
    seconds = bar.jobs[-1].end - bar.jobs[0].start
    return f"{len(bar.jobs)} jobs in {duration_text(seconds)}: {states}"


def _state(time: JobTime) -> tuple[str, str, str]:
    return _STATES.get(time.status, _OTHER)


def _name(time: JobTime) -> str:
    attempt = f" (attempt {time.attempt})" if time.attempt > 1 else ""
    return f"{time.operation} {display_name(time.node_id)}{attempt}"


def _short_name(time: JobTime) -> str:
    """Return the last part of a node's name, which tells the jobs of a run apart."""
    return display_name(time.node_id).rpartition("/")[2].rpartition(":")[2]


def _clock(seconds: float, form: str) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(form)
    except (ValueError, OverflowError, OSError):  # a year that no clock shows
        return "?"
