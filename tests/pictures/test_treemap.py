"""Rectangles fill their frame, do not overlap, and are as large as their sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.pictures.treemap import Rect, treemap

SIZES = st.lists(st.integers(1, 5000), min_size=1, max_size=80).map(
    lambda sizes: sorted(sizes, reverse=True)
)
FRAMES = st.builds(
    Rect,
    *(st.floats(-500, 500) for _ in range(2)),
    *(st.floats(1, 1000) for _ in range(2)),
)


@given(SIZES, FRAMES)
def test_areas_are_in_proportion_and_fill_the_frame(sizes: list[int], frame: Rect) -> None:
    found = treemap(sizes, frame)
    area = frame.width * frame.height
    for size, rect in zip(sizes, found, strict=True):
        assert rect.width * rect.height == pytest.approx(area * size / sum(sizes), rel=1e-6)
        assert rect.x >= frame.x - 1e-6
        assert rect.y >= frame.y - 1e-6
        assert rect.x + rect.width <= frame.x + frame.width + 1e-6
        assert rect.y + rect.height <= frame.y + frame.height + 1e-6


@given(SIZES, FRAMES)
def test_no_two_overlap(sizes: list[int], frame: Rect) -> None:
    found = treemap(sizes, frame)
    for number, one in enumerate(found):
        for other in found[number + 1 :]:
            width = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
            height = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
            assert min(width, height) <= 1e-6


def test_equal_sizes_are_nearly_square() -> None:
    for rect in treemap([1] * 12, Rect(0, 0, 400, 300)):
        assert (rect.width, rect.height) == pytest.approx((100, 100))


@pytest.mark.parametrize("frame", [Rect(0, 0, 0, 0), Rect(1, 1, 0, 50), Rect(1, 1, 50, 0)])
def test_a_frame_without_area_is_no_error(frame: Rect) -> None:
    assert len(treemap([5, 3, 1], frame)) == 3


def test_thousands_of_sizes_are_no_error() -> None:
    assert len(treemap([1] * 5000, Rect(0, 0, 900, 560))) == 5000
