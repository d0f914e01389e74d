"""The callers and callees of a node: callers on the left, callees on the right."""

from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup

from remora.code.links import Edge
from remora.code.pytest_model.pytest_file import is_of_tests
from remora.ids import display_name, split_node_key
from remora.pictures.figure import WIDTH, Frame, Key, Table, clipped, figure
from remora.pictures.markup import element, link
from remora.text import count

_MOST = 12
"""Most callers and callees that are drawn."""
_BOX, _ROW, _TOP = 250.0, 34.0, 8.0
_HIGH = 26.0
_MIDDLE = 190.0
_OUTSIDE = "ext:"
_NODE = ("state-wait", "ƒ", "node")
_TEST = ("state-good", "✓", "test")
_OTHER = ("state-quiet", "↗", "outside the project")

Href = Callable[[str], str]


def call_neighbourhood(
    key: str,
    callers: Sequence[Edge],
    callees: Sequence[Edge],
    *,
    href: Href | None = None,
) -> Markup:
    """Return the picture of a node's callers and callees.

    Of each, nodes of the project come first, then tests, then what is outside, in the order in
    which they are given. `href` returns the address of the page of a node's key.
    """
    callers, callees = (sorted(each, key=_rank) for each in (callers, callees))
    rows = max(map(_rows, (callers, callees)))
    height = 2 * _TOP + _ROW * rows
    both = [*callers, *callees]
    frame = Frame(
        name="calls",
        title=f"Calls of {display_name(key)}",
        text=f"{count(len(callers), 'caller')} on the left, {count(len(callees), 'callee')} on the "
        "right. A dashed line is a link that is not certain.",
        keys=[
            Key(*kind) for kind in dict.fromkeys(_kind(each) for each in sorted(both, key=_rank))
        ],
        table=_table(callers, callees),
        has_links=href is not None,
    )
    return figure(frame, height, _drawing(key, callers, callees, height / 2, href))


def _drawing(
    key: str,
    callers: Sequence[Edge],
    callees: Sequence[Edge],
    middle: float,
    href: Href | None,
) -> Iterator[Markup]:
    left, right = (WIDTH - _MIDDLE) / 2, (WIDTH + _MIDDLE) / 2
    for side, found in (("callers", callers), ("callees", callees)):
        top = middle - _ROW * _rows(found) / 2
        for number, each in enumerate(found[:_MOST]):
            y = top + _ROW * (number + 0.5)
            ends = (
                (_BOX, y, left, middle) if side == "callers" else (right, middle, WIDTH - _BOX, y)
            )
            yield _line(ends, each)
            x = 0.5 if side == "callers" else WIDTH - _BOX
            yield _neighbour(each, x, y, href)
        if len(found) > _MOST:
            x = 8 if side == "callers" else WIDTH - _BOX + 8
            text = f"and {len(found) - _MOST:,} more"
            yield element("text", text, x=x, y=top + _ROW * (_MOST + 0.5) + 4, class_="label")
    yield element(
        "g",
        element("title", display_name(key)),
        element("rect", x=left, y=middle - _ROW / 2, width=_MIDDLE, height=_ROW, rx=4, class_="focus"),
        element("text", _name(key, _MIDDLE - 12), x=WIDTH / 2, y=middle + 4,
                text_anchor="middle", class_="strong"),
    )  # fmt: skip


def _line(ends: tuple[float, float, float, float], each: Edge) -> Markup:
    x1, y1, x2, y2 = ends
    half = (x1 + x2) / 2
    path = f"M{x1:.1f} {y1:.1f}C{half:.1f} {y1:.1f} {half:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    weak = "" if each.tier in ("exact", "inferred") else " weak"
    return element("path", d=path, class_=f"edge{weak}")


def _neighbour(each: Edge, x: float, y: float, href: Href | None) -> Markup:
    kind, mark, what = _kind(each)
    lines = f", line {', '.join(map(str, each.lines[:5]))}" if each.lines else ""
    shape = element(
        "g",
        element("title", f"{_full_name(each.key)}: {what}, {each.tier}{lines}"),
        element("rect", x=x, y=y - _HIGH / 2, width=_BOX - 1, height=_HIGH, rx=4, class_=kind),
        element("text", f"{mark} {_name(each.key, _BOX - 30)}", x=x + 7, y=y + 4),
    )
    return shape if href is None or each.key.startswith(_OUTSIDE) else link(href(each.key), shape)


def _table(callers: Sequence[Edge], callees: Sequence[Edge]) -> Table:
    rows = [
        (what, _full_name(each.key), _kind(each)[2], each.tier, ", ".join(map(str, each.lines)))
        for what, found in (("caller", callers), ("callee", callees))
        for each in found[: 10 * _MOST]
    ]
    left = len(callers) + len(callees) - len(rows)
    heads = ("link", "name", "kind", "certainty", "lines")
    return Table(heads, rows, f"{left:,} more are not listed." if left else "")


def _kind(each: Edge) -> tuple[str, str, str]:
    """Return the class, the mark and the description of a caller or callee."""
    if each.key.startswith(_OUTSIDE):
        return _OTHER
    return _TEST if is_of_tests(split_node_key(each.key)[0]) else _NODE


def _rank(each: Edge) -> int:
    return (_NODE, _TEST, _OTHER).index(_kind(each))


def _rows(found: Sequence[Edge]) -> int:
    """Return the number of rows of one side, with one for what is left out."""
    return max(1, min(len(found), _MOST + 1))


def _full_name(key: str) -> str:
    return key.removeprefix(_OUTSIDE) if key.startswith(_OUTSIDE) else display_name(key)


def _name(key: str, width: float) -> str:
    """Return the end of the name that fits, because names often begin alike."""
    file_and_name = _full_name(key).rpartition("/")[2]
    if clipped(file_and_name, width) == file_and_name:
        return file_and_name
    return clipped(file_and_name.rpartition(":")[2], width, keep_end=True)
