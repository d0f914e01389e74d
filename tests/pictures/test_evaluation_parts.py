"""Pictures of evaluations: points and intervals are within their axes, and every number is a text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.pictures.count_grid import Cell, Column, Row, count_grid, counted_row
from remora.pictures.dot_rows import Arm, Measure, dot_rows
from remora.pictures.figure import WIDTH, Frame
from remora.pictures.interval import Estimate, exact, share_text
from remora.pictures.share_curves import Axes, Curve, CurvePoint, share_curves
from tests.pictures.drawn import HOSTILE, assert_harmless, boxes, height, parsed, texts

SHARE = st.floats(0, 1)
ESTIMATE = st.lists(SHARE, min_size=3, max_size=3).map(
    lambda ends: Estimate(sorted(ends)[1], min(ends), max(ends))
)
POINTS = st.lists(st.builds(CurvePoint, SHARE, ESTIMATE), max_size=6).map(
    lambda points: sorted(points, key=lambda point: point.x)
)
CURVES = st.lists(
    st.builds(Curve, st.just("arm"), POINTS, st.tuples(ESTIMATE, ESTIMATE)), min_size=1, max_size=6
)
LARGE = st.floats(0, 1e7).map(exact)
FRAME = Frame("f", "Title", "Text.")
AXES = Axes("coverage", "precision")


def places(picture: str, kind: str) -> list[tuple[float, float]]:
    """The ends of a path's lines, of elements whose class begins with `kind`."""
    found = []
    for each in parsed(picture).iter("path"):
        if not each.attrib["class"].startswith(kind):
            continue
        x = y = 0.0
        for step, numbers in re.findall(r"([MLHVhv])([-\d. ]+)", each.attrib["d"]):
            values = [float(one) for one in numbers.split()]
            match step:
                case "H":
                    x = values[0]
                case "V":
                    y = values[0]
                case "h":
                    x += values[0]
                case "v":
                    y += values[0]
                case _:
                    x, y = values
            found.append((x, y))
    return found


def dots(picture: str) -> list[tuple[float, float]]:
    return [
        (float(each.attrib["cx"]), float(each.attrib["cy"]))
        for each in parsed(picture).iter("circle")
    ]


@given(CURVES)
def test_curves_bands_and_whiskers_are_within_the_axes(curves: list[Curve]) -> None:
    picture = share_curves(FRAME, AXES, curves)
    for x, y in [*places(picture, "line"), *places(picture, "band"), *dots(picture)]:
        assert 66 <= x <= WIDTH - 16
        assert 12 <= y <= 300
    assert all(0 <= x <= WIDTH and 0 <= y <= 305 for x, y in places(picture, "whisker"))
    assert len(dots(picture)) == len(curves)


@given(CURVES)
def test_labels_of_curves_are_apart(curves: list[Curve]) -> None:
    labels = [
        (float(each.attrib["x"]), float(each.attrib["y"]))
        for each in parsed(share_curves(FRAME, AXES, curves)).iter("text")
        if each.attrib.get("class") == "strong"
    ]
    assert len(labels) == len(curves)
    for number, (x, y) in enumerate(labels):
        assert all(abs(x - a) >= 18 or abs(y - b) >= 15 for a, b in labels[:number])
        assert 0 <= x <= WIDTH
        assert 0 <= y <= 315


@given(st.lists(st.tuples(ESTIMATE, LARGE | st.none()), min_size=1, max_size=12))
def test_whiskers_contain_their_dot(found: list[tuple[Estimate, Estimate | None]]) -> None:
    measures = [Measure("share"), Measure("tokens", is_share=False)]
    arms = [Arm(f"arm {number}", values) for number, values in enumerate(found)]
    picture = dot_rows(FRAME, measures, arms)
    by_row: dict[float, list[float]] = {}
    for x, y in places(picture, "whisker"):
        by_row.setdefault(round(y), []).append(x)
    for x, y in dots(picture):
        ends = by_row.get(round(y), [x])
        assert 240 <= x <= WIDTH
        assert x > 560 or min(ends) <= x <= max(ends)
    assert len(dots(picture)) == sum(each is not None for pair in found for each in pair)
    assert all(0 <= y <= height(picture) for _, y in dots(picture))


def test_what_is_not_known_has_no_dot_and_is_said() -> None:
    picture = dot_rows(FRAME, [Measure("precision")], [Arm("rules", [None])])
    assert dots(picture) == []
    assert texts(picture, "td") == ["rules", "-"]


def test_an_axis_of_numbers_ends_above_the_largest() -> None:
    picture = dot_rows(FRAME, [Measure("tokens", is_share=False)], [Arm("a", [exact(1346)])])
    assert "2,000" in texts(picture, "text")
    assert "1,346" in texts(picture, "td")


@pytest.mark.parametrize(("most", "axis"), [(1, ["0", "1"]), (2, ["0", "1", "2"]), (5, ["0", "5"])])
def test_the_middle_of_an_axis_is_labeled_if_it_is_whole(most: int, axis: list[str]) -> None:
    picture = dot_rows(FRAME, [Measure("tokens", is_share=False)], [Arm("a", [exact(most)])])
    shown = texts(picture, "text")
    assert shown[1 : shown.index("a")] == axis


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=3, max_size=3), min_size=1, max_size=50))
def test_bars_are_within_their_cells_and_cells_are_apart(counts: list[list[int]]) -> None:
    columns = [Column(name) for name in ("right", "wrong", "left")]
    rows = [counted_row(f"row {number}", each) for number, each in enumerate(counts)]
    picture = count_grid(FRAME, "kind", columns, rows)
    cells, bars = boxes(picture, "frame"), boxes(picture, "bar")
    assert len(cells) == 3 * min(len(counts), 40)
    assert not any(a.overlaps(b) for n, a in enumerate(cells[:30]) for b in cells[:n])
    for bar in bars:
        assert any(
            cell.x <= bar.x and bar.right <= cell.right + 0.1 and cell.y <= bar.y
            and bar.bottom <= cell.bottom + 0.1
            for cell in cells
        )  # fmt: skip
    assert max(cell.bottom for cell in cells) <= height(picture)
    assert len(texts(picture, "td")) == 4 * len(counts), "the table has all rows"


def test_bars_are_shares_of_their_row() -> None:
    picture = count_grid(FRAME, "kind", [Column("a"), Column("b")], [counted_row("r", [3, 1])])
    long, short = boxes(picture, "bar")
    assert (long.right - long.x) / (short.right - short.x) == pytest.approx(3, abs=0.02)
    assert texts(picture, "td") == ["r", "3 (75 %)", "1 (25 %)"]


def test_what_has_no_room_is_only_in_the_table() -> None:
    columns = [Column(f"c{number}") for number in range(10)]
    rows = [Row(f"r{number}", [Cell("1", 0.5)] * 10) for number in range(45)]
    picture = count_grid(FRAME, "kind", columns, rows)
    assert "Only in the table: 5 more rows, 2 more columns." in texts(picture, "desc")[0]
    assert len(boxes(picture, "frame")) == 40 * 8
    assert all(box.right <= WIDTH for box in boxes(picture, "frame"))
    assert len(texts(picture, "td")) == 45 * 11


def test_hostile_names_do_nothing() -> None:
    estimate = Estimate(0.5, 0.2, 0.9)
    frame = Frame("f", HOSTILE, HOSTILE)
    points = [CurvePoint(0.1, estimate), CurvePoint(0.5, estimate)]
    for picture in (
        share_curves(frame, Axes(HOSTILE, HOSTILE), [Curve(HOSTILE, points, (estimate, estimate))]),
        dot_rows(frame, [Measure(HOSTILE)], [Arm(HOSTILE, [estimate])]),
        count_grid(
            frame,
            HOSTILE,
            [Column(HOSTILE, explanation=HOSTILE)],
            [Row(HOSTILE, [Cell(HOSTILE, 0.4)])],
        ),
    ):
        assert_harmless(picture)


def test_nothing_to_draw_is_no_picture() -> None:
    assert share_curves(FRAME, AXES, []) == ""
    assert dot_rows(FRAME, [Measure("x")], []) == ""
    assert count_grid(FRAME, "kind", [Column("x")], []) == ""


def test_shares_are_said_with_their_intervals() -> None:
    assert share_text(Estimate(0.914, 0.876, 0.951)) == "91 % (88 to 95)"
    assert share_text(exact(1)) == "100 %"
    assert share_text(None) == "-"
