"""Curves of one share against another: a line with a band, or a point with whiskers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from remora.pictures.figure import WIDTH, Frame, Key, Table, figure
from remora.pictures.interval import Estimate, exact, share_text
from remora.pictures.markup import element

_LEFT, _RIGHT, _TOP, _BOTTOM = 66.0, WIDTH - 16.0, 12.0, 300.0
_HEIGHT = _BOTTOM + 42
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_CAP = 4.0
"""Half the width of the end of a whisker."""
_COLORS = 5
_LABEL_WIDTH, _LABEL_HEIGHT = 18.0, 15.0
_MOST_ROWS = 200


class CurvePoint(NamedTuple):
    """A point of a curve. The intervals of its points are drawn as a band."""

    x: float
    y: Estimate


class Curve(NamedTuple):
    """A curve with its end, which has intervals in both directions."""

    name: str
    points: Sequence[CurvePoint]
    end: tuple[Estimate, Estimate]


class Axes(NamedTuple):
    """The names of both axes."""

    x: str
    y: str


def share_curves(frame: Frame, axes: Axes, curves: Sequence[Curve]) -> Markup:
    """Return the picture of the curves, or an empty text if there are none.

    The keys and the table of `frame` are replaced.
    """
    if not curves:
        return Markup("")
    keys = [Key(_series(number), f"{number + 1}", each.name) for number, each in enumerate(curves)]
    frame = frame._replace(keys=keys, table=_table(axes, curves))
    return figure(frame, _HEIGHT, _drawing(axes, curves))


def _drawing(axes: Axes, curves: Sequence[Curve]) -> Iterator[Markup]:
    yield from _grid(axes)
    for number, each in enumerate(curves):
        yield from _band(each, number)
    for number, each in enumerate(curves):
        yield from _line(each, number)
        yield from _whiskers(each, number)
    yield from _labels(curves)


def _grid(axes: Axes) -> Iterator[Markup]:
    for tick in _TICKS:
        x, y = _x(tick), _y(tick)
        kind = "grid" if tick else "axis"
        yield element("path", d=f"M{_LEFT} {y}H{_RIGHT}", class_=kind)
        yield element("path", d=f"M{x} {_TOP}V{_BOTTOM}", class_=kind)
        yield element("text", f"{tick * 100:.0f} %", x=min(x, _RIGHT - 8), y=_BOTTOM + 16,
                      text_anchor="middle", class_="label")  # fmt: skip
        yield element("text", f"{tick * 100:.0f} %", x=_LEFT - 6, y=y + 4,
                      text_anchor="end", class_="label")  # fmt: skip
    yield element("text", axes.x, x=_x(0.5), y=_BOTTOM + 34, text_anchor="middle")
    turned = f"translate(14 {_y(0.5)}) rotate(-90)"
    yield element("text", axes.y, transform=turned, text_anchor="middle")


def _band(curve: Curve, number: int) -> Iterator[Markup]:
    if len(curve.points) < 2 or all(each.y.is_exact for each in curve.points):
        return
    upper = [f"{_x(each.x)} {_y(each.y.high)}" for each in curve.points]
    lower = [f"{_x(each.x)} {_y(each.y.low)}" for each in reversed(curve.points)]
    path = f"M{'L'.join([*upper, *lower])}Z"
    yield element("path", d=path, class_=f"band {_series(number)}")


def _line(curve: Curve, number: int) -> Iterator[Markup]:
    if len(curve.points) > 1:
        path = "L".join(f"{_x(each.x)} {_y(each.y.value)}" for each in curve.points)
        yield element("path", d=f"M{path}", class_=f"line {_series(number)}")


def _whiskers(curve: Curve, number: int) -> Iterator[Markup]:
    x, y = curve.end
    px, py = _x(x.value), _y(y.value)
    wide, high = (_x(x.low), _x(x.high)), (_y(y.low), _y(y.high))
    path = ""
    if not x.is_exact:
        path += f"M{wide[0]} {py}H{wide[1]}"
        path += "".join(f"M{end} {py - _CAP:.1f}v{2 * _CAP}" for end in wide)
    if not y.is_exact:
        path += f"M{px} {high[0]}V{high[1]}"
        path += "".join(f"M{px - _CAP:.1f} {end}h{2 * _CAP}" for end in high)
    kind = _series(number)
    yield element("g",
        element("title", f"{curve.name}: {share_text(y)} at {share_text(x)}"),
        element("path", d=path, class_=f"whisker {kind}") if path else Markup(""),
        element("circle", cx=px, cy=py, r=4.5, class_=f"dot {kind}"),
    )  # fmt: skip


def _labels(curves: Sequence[Curve]) -> Iterator[Markup]:
    """Yield the number of each curve beside its end, below those that are already there."""
    taken: list[tuple[float, float]] = []
    for number, each in enumerate(curves):
        x = min(_x(each.end[0].value) + 7, _RIGHT - _LABEL_WIDTH / 2)
        y = max(_y(each.end[1].value) - 7, _TOP + _LABEL_HEIGHT)
        while any(abs(x - a) < _LABEL_WIDTH and abs(y - b) < _LABEL_HEIGHT for a, b in taken):
            y += _LABEL_HEIGHT
            if y > _BOTTOM:
                x, y = x - _LABEL_WIDTH, _TOP + _LABEL_HEIGHT
        taken.append((x, y))
        yield element("text", f"{number + 1}", x=x, y=y, class_="strong")


def _table(axes: Axes, curves: Sequence[Curve]) -> Table:
    rows = [(each.name, *map(share_text, each.end)) for each in curves]
    points = [
        (each.name, share_text(exact(point.x)), share_text(point.y))
        for each in curves
        for point in {round(point.x, 2): point for point in each.points}.values()
    ]
    left = len(points) - _MOST_ROWS
    note = f"{left:,} more points are not listed." if left > 0 else ""
    return Table(("curve", axes.x, axes.y), [*rows, *points[:_MOST_ROWS]], note)


def _series(number: int) -> str:
    return f"series-{number % _COLORS}"


def _x(share: float) -> float:
    return round(_LEFT + share * (_RIGHT - _LEFT), 1)


def _y(share: float) -> float:
    return round(_BOTTOM - share * (_BOTTOM - _TOP), 1)
