"""Arms of a comparison: one row for each, one column for each measure, a dot with its whiskers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from remora.pictures.figure import WIDTH, Frame, Table, clipped, figure
from remora.pictures.interval import Estimate, exact, number_text, share_text
from remora.pictures.markup import element

_NAMES, _GAP = 240.0, 30.0
_TOP, _ROW = 40.0, 40.0
_CAP, _RADIUS = 4.0, 4.5
_ROOM = 140.0
"""Least width of a column with a number in the middle of its axis."""


class Measure(NamedTuple):
    """A column. Its axis ends at 1 if it is a share, and otherwise above the largest number."""

    name: str
    is_share: bool = True


class Arm(NamedTuple):
    """A row. `values` has one entry for each measure, None if it is not known."""

    name: str
    values: Sequence[Estimate | None]


class _Column(NamedTuple):
    measure: Measure
    left: float
    right: float
    top: float
    """The number at the right end."""

    def x(self, number: float) -> float:
        return round(self.left + (self.right - self.left) * number / self.top, 1)

    def has_label(self, number: float) -> bool:
        """Return True if a place on the axis has room for its number, which is not rounded."""
        is_end = number in (0.0, self.top)
        is_exact = self.measure.is_share or number.is_integer()
        return is_end or (is_exact and self.right - self.left >= _ROOM)

    def text(self, found: Estimate | None) -> str:
        return share_text(found) if self.measure.is_share else number_text(found)


def dot_rows(frame: Frame, measures: Sequence[Measure], arms: Sequence[Arm]) -> Markup:
    """Return the picture of the arms, or an empty text if there are none.

    The keys and the table of `frame` are replaced.
    """
    if not arms:
        return Markup("")
    columns = list(_columns(measures, arms))
    rows = [
        (arm.name, *(each.text(found) for each, found in zip(columns, arm.values, strict=True)))
        for arm in arms
    ]
    table = Table(("arm", *(measure.name for measure in measures)), rows)
    drawing = [
        *_axes(columns, _TOP + _ROW * len(arms)),
        *(part for number, arm in enumerate(arms) for part in _row(columns, arm, number)),
    ]
    return figure(frame._replace(keys=(), table=table), _TOP + _ROW * len(arms) + 22, drawing)


def _columns(measures: Sequence[Measure], arms: Sequence[Arm]) -> Iterator[_Column]:
    width = (WIDTH - _NAMES - _GAP * len(measures)) / len(measures)
    for number, measure in enumerate(measures):
        found = [arm.values[number] for arm in arms]
        left = _NAMES + (width + _GAP) * number
        most = max((each.high for each in found if each is not None), default=0.0)
        yield _Column(measure, left, left + width, 1.0 if measure.is_share else _round_end(most))


def _round_end(most: float) -> float:
    """Return 1, 2 or 5 times a power of ten that is not less than `most`."""
    power = 1.0
    while power * 10 <= most:
        power *= 10
    return next((power * step for step in (1, 2, 5) if power * step >= most), power * 10)


def _axes(columns: Sequence[_Column], bottom: float) -> Iterator[Markup]:
    for column in columns:
        yield element("text", column.measure.name, x=column.left, y=16, class_="strong")
        ends = ((0.0, "start"), (column.top / 2, "middle"), (column.top, "end"))
        for number, anchor in ends:
            x = column.x(number)
            kind = "grid" if number else "axis"
            yield element("path", d=f"M{x} {_TOP - 12}V{bottom}", class_=kind)
            if column.has_label(number):
                text = column.text(exact(number))
                yield element("text", text, x=x, y=bottom + 16, text_anchor=anchor, class_="label")


def _row(columns: Sequence[_Column], arm: Arm, number: int) -> Iterator[Markup]:
    top = _TOP + _ROW * number
    yield element("path", d=f"M0 {top + _ROW - 6:.1f}H{WIDTH}", class_="axis")
    yield element(
        "g",
        element("title", arm.name),
        element("text", clipped(arm.name, _NAMES - 14), x=0, y=top + 14),
    )
    for column, found in zip(columns, arm.values, strict=True):
        yield element("text", column.text(found), x=column.left + 4, y=top + 6, class_="label")
        if found is not None:
            yield from _dot(column, found, top + 20)


def _dot(column: _Column, found: Estimate, y: float) -> Iterator[Markup]:
    if not found.is_exact:
        low, high = column.x(found.low), column.x(found.high)
        caps = "".join(f"M{end} {y - _CAP:.1f}v{2 * _CAP}" for end in (low, high))
        yield element("path", d=f"M{low} {y}H{high}{caps}", class_="whisker series-0")
    yield element("circle", cx=column.x(found.value), cy=y, r=_RADIUS, class_="dot series-0")
