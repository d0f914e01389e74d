"""Squarified treemaps: rectangles that fill a frame, with areas in proportion to sizes.

The layout is that of Bruls, Huizing and van Wijk, "Squarified Treemaps" (2000).
"""

from collections.abc import Sequence
from typing import NamedTuple


class Rect(NamedTuple):
    """A rectangle. `x` and `y` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    def within(self, top: float) -> "Rect":
        """Return the part inside a margin of 1, which is `top` wide at the top."""
        return Rect(
            self.x + 1, self.y + top, max(self.width - 2, 0.0), max(self.height - 1 - top, 0.0)
        )


def treemap(sizes: Sequence[float], frame: Rect) -> list[Rect]:
    """Return a rectangle for each size. The sizes are positive and in descending order."""
    scale = frame.width * frame.height / max(sum(sizes), 1e-9)
    found: list[Rect] = []
    left = frame
    while len(found) < len(sizes):
        row = _row(sizes, len(found), scale, min(left.width, left.height))
        is_last = len(found) + len(row) == len(sizes)
        placed, left = _placed(row, left, scale, is_last=is_last)
        found += placed
    return found


def _row(sizes: Sequence[float], first: int, scale: float, side: float) -> Sequence[float]:
    """Return the sizes of the next row, which are as square as possible along `side`."""
    end, total, worst = first, 0.0, float("inf")
    while end < len(sizes):
        total += sizes[end]
        now = _worst_ratio(sizes[first], sizes[end], total, scale, side)
        if now > worst:
            break
        end, worst = end + 1, now
    return sizes[first : max(end, first + 1)]


def _worst_ratio(largest: float, least: float, total: float, scale: float, side: float) -> float:
    """Return the ratio of the sides of the least square rectangle in a row."""
    depth = total * scale / side if side else 0.0
    if not depth:
        return 1.0
    return max(largest * scale / depth**2, depth**2 / (least * scale))


def _placed(
    row: Sequence[float], frame: Rect, scale: float, *, is_last: bool
) -> tuple[list[Rect], Rect]:
    """Place a row along the shorter side of a frame. Also return the rest of the frame."""
    x, y, width, height = frame
    is_column = width >= height
    side = height if is_column else width
    most = width if is_column else height
    depth = most if is_last else min(most, sum(row) * scale / side if side else 0.0)
    found = []
    at, total = 0.0, sum(row)
    for size in row:
        length = side * size / total
        found.append(
            Rect(x, y + at, depth, length) if is_column else Rect(x + at, y, length, depth)
        )
        at += length
    if is_column:
        return found, Rect(x + depth, y, width - depth, height)
    return found, Rect(x, y + depth, width, height - depth)
