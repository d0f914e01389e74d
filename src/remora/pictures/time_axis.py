"""The time axis of a timeline: idle hours are cut out, and ticks are at round times."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(_MINUTE * each for each in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * each for each in (1, 2, 3, 6, 12)),
)
_LEAST_IDLE = 60.0
"""Idle seconds that are never cut out."""
_IDLE_SHARE = 0.2
"""Idle time that is cut out, as a share of all other time."""
_CUT, _ALL_CUTS = 36.0, 0.25
"""Width of a cut, and the share of the axis that all cuts may take."""
_TICK_WIDTH = 90.0
"""Least width between two ticks."""


class Stretch(NamedTuple):
    """A time without a long pause, drawn from `x` on."""

    start: float
    end: float
    x: float


class Cut(NamedTuple):
    """A pause that is not drawn to scale."""

    x: float
    width: float
    seconds: float


class Axis(NamedTuple):
    """Places times between `left` and `right`. `scale` is the width of a second."""

    left: float
    right: float
    scale: float
    stretches: tuple[Stretch, ...]
    cuts: tuple[Cut, ...]

    def x(self, time: float) -> float:
        """Return the place of a time. A time in a pause is at the beginning of the pause."""
        stretch = self.stretches[0]
        for each in self.stretches:
            if each.start > time:
                break
            stretch = each
        place = stretch.x + (min(time, stretch.end) - stretch.start) * self.scale
        return min(max(place, self.left), self.right)


def make_axis(times: Iterable[tuple[float, float]], left: float, right: float) -> Axis:
    """Return an axis for spans of time, of which there is at least one."""
    busy = _merged(times)
    total = sum(end - start for start, end in busy)
    parts = _without_long_pauses(busy, max(_LEAST_IDLE, total * _IDLE_SHARE))
    shown = sum(end - start for start, end in parts)
    pauses = len(parts) - 1
    width = min(_CUT, (right - left) * _ALL_CUTS / pauses) if pauses else 0.0
    scale = (right - left - width * pauses) / max(shown, 0.001)
    stretches, cuts, x = [], [], left
    for number, (start, end) in enumerate(parts):
        if number:
            cuts.append(Cut(x, width, start - parts[number - 1][1]))
            x += width
        stretches.append(Stretch(start, end, x))
        x += (end - start) * scale
    return Axis(left, right, scale, tuple(stretches), tuple(cuts))


def tick_step(axis: Axis) -> float:
    """Return the seconds between two ticks."""
    least = _TICK_WIDTH / axis.scale
    days = _DAY * max(1, -(-least // _DAY))
    return next((step for step in _STEPS if step >= least), days)


def ticks(axis: Axis) -> Iterator[tuple[float, float]]:
    """Yield the place of each tick, and its seconds since the beginning of its stretch."""
    step = tick_step(axis)
    for stretch in axis.stretches:
        for number in range(1, int((stretch.end - stretch.start) / step) + 1):
            yield stretch.x + number * step * axis.scale, number * step


def duration_text(seconds: float) -> str:
    """Return a duration, such as `250 ms`, `1.5 s`, `2 min 5 s` or `3 h 20 min`."""
    if (milliseconds := round(seconds * 1000)) < 1000:
        return f"{milliseconds} ms"
    if round(seconds, 1) < _MINUTE:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    if round(seconds) < _HOUR:
        return _two_units(round(seconds), 60, "min", "s")
    if round(seconds / _MINUTE) * _MINUTE < _DAY:
        return _two_units(round(seconds / _MINUTE), 60, "h", "min")
    return _two_units(round(seconds / _HOUR), 24, "d", "h")


def _two_units(number: int, size: int, long: str, short: str) -> str:
    """Return a number of short units, of which `size` are a long one."""
    whole, rest = divmod(number, size)
    return f"{whole} {long}" + (f" {rest} {short}" if rest else "")


def _merged(times: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the times in which anything happened, without overlaps."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(times):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _without_long_pauses(
    busy: Sequence[tuple[float, float]], most: float
) -> list[tuple[float, float]]:
    """Join times between which there is no pause of more than `most` seconds."""
    found = [busy[0]]
    for start, end in busy[1:]:
        if start - found[-1][1] <= most:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found
