"""The timeline of a run with a model: its jobs in lanes, and what they waited for."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from remora.ids import display_name
from remora.pictures.job_time import ACTIVITIES, JobTime
from remora.pictures.markup import element, link
from remora.text import count

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
_ACTIVITIES = {
    "model": "waiting for the model", "tools": "running tools", "checks": "verification"
}  # fmt: skip
_WIDTH, _LANE, _BAR, _TRACK = 900.0, 40.0, 20.0, 4.0
"""Sizes in about pixels: the picture, a lane, a bar, and one of the lines below a bar."""
_MARK_WIDTH, _CHARACTER = 14.0, 7.2
_MOST_JOBS, _MOST_LANES = 500, 32
_PAUSE = 60.0
"""Idle seconds that are left out."""
Href = Callable[[JobTime], str]


def timeline(times: Sequence[JobTime], *, href: Href | None = None) -> Markup:
    """Return the picture of a run's times. `href` returns the address of a job's page.

    The result is empty if no model was asked.
    """
    if not any(time.waited("model") for time in times):
        return Markup("")
    shown = sorted(times, key=lambda time: -time.seconds)[:_MOST_JOBS]
    place, worked = _places(shown)
    lanes = lanes_of(shown)[:_MOST_LANES]
    drawing = [
        part
        for number, lane in enumerate(lanes)
        for time in lane
        for part in _job(time, number * _LANE + 4, place, href)
    ]
    svg = element(
        "svg", element("title", "Timeline"), *drawing,
        viewBox=f"0 0 {_WIDTH:.0f} {_LANE * len(lanes):.0f}", role="img" if href is None else "group",
    )  # fmt: skip
    left = len(times) - sum(map(len, lanes))
    text = _text(times, worked) + (f" {left:,} shorter jobs are not drawn." if left else "")
    return element(
        "figure",
        element("figcaption", element("strong", "Timeline"), f" {text}"),
        element("ul", *_keys(times), class_="keys"),
        element("div", svg, class_="drawing", tabindex=0, role="group", aria_label="Timeline"),
        class_="picture",
    )


def lanes_of(times: Sequence[JobTime]) -> list[list[JobTime]]:
    """Divide jobs into the fewest lanes, in which no two jobs overlap."""
    lanes: list[list[JobTime]] = []
    busy: list[tuple[float, int]] = []
    for time in sorted(times, key=lambda time: (time.start, time.end)):
        if busy and busy[0][0] <= time.start:
            number = heapq.heappop(busy)[1]
        else:
            number = len(lanes)
            lanes.append([])
        lanes[number].append(time)
        heapq.heappush(busy, (time.end, number))
    return lanes


def _places(times: Sequence[JobTime]) -> tuple[Callable[[float], float], float]:
    """Return the place of each time on the axis, from which pauses are left out, and its seconds."""
    stretches: list[tuple[float, float]] = []
    for time in sorted(times, key=lambda time: time.start):
        if stretches and time.start <= stretches[-1][1] + _PAUSE:
            stretches[-1] = stretches[-1][0], max(stretches[-1][1], time.end)
        else:
            stretches.append((time.start, time.end))
    worked = sum(end - start for start, end in stretches)

    def place(moment: float) -> float:
        before = sum(min(max(moment - start, 0.0), end - start) for start, end in stretches)
        return _WIDTH * before / max(worked, 0.001)

    return place, worked


def _job(
    time: JobTime, y: float, place: Callable[[float], float], href: Href | None
) -> Iterator[Markup]:
    x, kind, mark = place(time.start), *_state(time)[:2]
    width = max(place(time.end) - x, 1.0)
    waits = [f"{_ACTIVITIES[a]} {time.waited(a):.1f} s" for a in ACTIVITIES if time.waited(a)]
    title = ", ".join([f"{_name(time)}: {_state(time)[2]} in {time.seconds:.1f} s", *waits])
    most = int((width - 2 * _MARK_WIDTH) / _CHARACTER)
    label = f"{mark} {_short_name(time)[: max(most, 0)]}" if width >= _MARK_WIDTH else ""
    bar = element(
        "g",
        element("title", title),
        element("rect", x=x, y=y, width=width, height=_BAR, class_=kind),
        element("text", label.strip(), x=x + 4, y=y + _BAR - 6, class_="mark"),
    )
    yield link(href(time), bar) if href else bar
    for span in time.spans:
        start, top = place(span.start), y + _BAR + 1 + ACTIVITIES.index(span.activity) * _TRACK
        yield element(
            "rect", x=start, y=top, width=place(span.end) - start, height=_TRACK,
            class_=f"activity-{span.activity}",
        )  # fmt: skip


def _text(times: Sequence[JobTime], worked: float) -> str:
    """Describe the run, e.g. `4 jobs, 34.0 s: 61% waiting for the model, …`."""
    total = sum(time.seconds for time in times) or 1.0
    shares = [f"{sum(t.waited(a) for t in times) / total:.0%} {_ACTIVITIES[a]}" for a in ACTIVITIES]
    return (
        f"{count(len(times), 'job')}, {worked:.1f} s without pauses. Of the jobs' time: "
        f"{', '.join(shares)}, and the rest preparation."
    )


def _keys(times: Sequence[JobTime]) -> Iterator[Markup]:
    counts = Counter(map(_state, times))
    keys = [(k, m, f"{n}: {counts[k, m, n]:,}") for k, m, n in (*_STATES.values(), _OTHER)
            if counts[k, m, n]]  # fmt: skip
    keys += [(f"activity-{activity}", "", _ACTIVITIES[activity]) for activity in ACTIVITIES]
    for kind, mark, text in keys:
        yield element("li", element("span", mark, class_=f"swatch {kind}"), text)


def _state(time: JobTime) -> tuple[str, str, str]:
    return _STATES.get(time.status, _OTHER)


def _name(time: JobTime) -> str:
    attempt = f" (attempt {time.attempt})" if time.attempt > 1 else ""
    return f"{time.operation} {display_name(time.node_id)}{attempt}"


def _short_name(time: JobTime) -> str:
    """Return the last part of a node's name, which tells the jobs of a run apart."""
    return display_name(time.node_id).rpartition("/")[2].rpartition(":")[2]
