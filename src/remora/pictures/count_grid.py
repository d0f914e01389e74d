"""A grid of shares, such as right, wrong and left out of each class: a table whose cells are bars."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from remora.pictures.figure import WIDTH, Frame, Key, Table, clipped, figure
from remora.pictures.markup import element

_NAMES, _GAP = 240.0, 6.0
_TOP, _ROW, _BOX, _BAR = 24.0, 34.0, 27.0, 6.0
_MOST_COLUMNS, _MOST_ROWS = 8, 40


class Column(NamedTuple):
    """A column. `kind` is the class of its bars, `mark` stands before its name."""

    name: str
    kind: str = "state-wait"
    mark: str = ""
    explanation: str = ""


class Cell(NamedTuple):
    """A cell: its text, and the share that its bar fills, or None if there is no bar.

    A cell without a text is not drawn.
    """

    text: str
    share: float | None


class Row(NamedTuple):
    name: str
    cells: Sequence[Cell]


def counted_row(name: str, counts: Sequence[int]) -> Row:
    """Return a row of counts, whose bars are the shares of their sum."""
    total = sum(counts)
    return Row(name, [_counted(number, total) for number in counts])


def count_grid(frame: Frame, head: str, columns: Sequence[Column], rows: Sequence[Row]) -> Markup:
    """Return the picture of a grid, or an empty text if it has no rows or columns.

    `head` says what the rows are. The keys and the table of `frame` are replaced. What has no room
    is only in the table.
    """
    if not rows or not columns:
        return Markup("")
    heads = (head, *(column.name for column in columns))
    table = Table(heads, [(row.name, *(cell.text for cell in row.cells)) for row in rows])
    hidden = [
        f"{left:,} more {what}"
        for left, what in (
            (len(rows) - _MOST_ROWS, "rows"),
            (len(columns) - _MOST_COLUMNS, "columns"),
        )
        if left > 0
    ]
    text = f"{frame.text} Only in the table: {', '.join(hidden)}." if hidden else frame.text
    keys = [
        Key(each.kind, each.mark, f"{each.name}: {each.explanation}")
        for each in columns
        if each.explanation
    ]
    frame = frame._replace(text=text, keys=keys, table=table)
    shown = rows[:_MOST_ROWS]
    drawing = [
        *_heads(columns),
        *(part for number, row in enumerate(shown) for part in _row(row, columns, number)),
    ]
    return figure(frame, _TOP + _ROW * len(shown), drawing)


def _counted(number: int, total: int) -> Cell:
    if not number:
        return Cell("0", None)
    return Cell(f"{number:,} ({number / total * 100:.0f} %)", number / total)


def _heads(columns: Sequence[Column]) -> Iterator[Markup]:
    width = _width(columns)
    for number, column in enumerate(columns[:_MOST_COLUMNS]):
        text = clipped(f"{column.mark} {column.name}".strip(), width - _GAP)
        name = element("text", text, x=_left(number, width), y=14, class_="strong")
        yield element("g", element("title", column.name), name)


def _row(row: Row, columns: Sequence[Column], number: int) -> Iterator[Markup]:
    top, width = _TOP + _ROW * number, _width(columns)
    name = element("text", clipped(row.name, _NAMES - 14), x=0, y=top + 16)
    yield element("g", element("title", row.name), name)
    for place, (column, cell) in enumerate(zip(columns, row.cells, strict=True)):
        if place < _MOST_COLUMNS and cell.text:
            yield from _cell(column, cell, _left(place, width), top, width - _GAP)


def _cell(column: Column, cell: Cell, x: float, y: float, width: float) -> Iterator[Markup]:
    yield element("rect", x=x, y=y, width=width, height=_BOX, class_="frame")
    if cell.share:
        long = max(width * cell.share, 2.0)
        yield element(
            "rect", x=x, y=y + _BOX - _BAR, width=long, height=_BAR, class_=f"bar {column.kind}"
        )
    yield element("text", clipped(cell.text, width - 8), x=x + 6, y=y + 14)


def _width(columns: Sequence[Column]) -> float:
    """Return the width of a column: a few columns do not fill the picture."""
    return min((WIDTH - _NAMES) / min(len(columns), _MOST_COLUMNS), 165.0)


def _left(number: int, width: float) -> float:
    return _NAMES + width * number
