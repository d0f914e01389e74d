"""Times are drawn in order within the axis, and only long pauses are cut out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.pictures.time_axis import duration_text, make_axis, tick_step, ticks

LEFT, RIGHT = 34.0, 894.0
TIMES = st.lists(
    st.tuples(st.floats(0, 1e6), st.floats(0, 5000)).map(lambda each: (each[0], sum(each))),
    min_size=1,
    max_size=30,
)


@given(TIMES, st.lists(st.floats(-10, 2e6), max_size=20))
def test_every_time_is_within_the_axis_and_in_order(
    times: list[tuple[float, float]], other: list[float]
) -> None:
    axis = make_axis(times, LEFT, RIGHT)
    places = [axis.x(time) for time in sorted([*other, *(end for each in times for end in each)])]
    assert all(LEFT <= place <= RIGHT for place in places)
    assert places == sorted(places)


@given(TIMES)
def test_stretches_and_cuts_fill_the_axis(times: list[tuple[float, float]]) -> None:
    axis = make_axis(times, LEFT, RIGHT)
    shown = sum(stretch.end - stretch.start for stretch in axis.stretches) * axis.scale
    assert shown + sum(cut.width for cut in axis.cuts) <= RIGHT - LEFT + 1e-3
    assert len(axis.cuts) == len(axis.stretches) - 1
    assert all(cut.seconds >= 60 for cut in axis.cuts)


@given(TIMES)
def test_ticks_are_within_the_axis_and_apart(times: list[tuple[float, float]]) -> None:
    axis = make_axis(times, LEFT, RIGHT)
    places = [x for x, _ in ticks(axis)]
    assert all(LEFT < place <= RIGHT + 1e-6 for place in places)
    assert tick_step(axis) * axis.scale >= 89.9


def test_a_short_pause_is_drawn_and_a_long_one_is_cut() -> None:
    assert make_axis([(0, 10), (60, 70)], LEFT, RIGHT).cuts == ()
    (cut,) = make_axis([(0, 10), (12010, 12020)], LEFT, RIGHT).cuts
    assert (cut.seconds, cut.width) == (12000, 36)


def test_many_pauses_leave_room_for_what_happened() -> None:
    axis = make_axis([(day * 86400.0, day * 86400.0 + 60) for day in range(300)], LEFT, RIGHT)
    assert sum(cut.width for cut in axis.cuts) == pytest.approx((RIGHT - LEFT) / 4)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0.0, "0 ms"), (0.25, "250 ms"), (1.0, "1 s"), (59.94, "59.9 s"), (60.0, "1 min")),
        *((125.0, "2 min 5 s"), (3600.0, "1 h"), (12000.0, "3 h 20 min"), (90000.0, "1 d 1 h")),
        *((0.9994, "999 ms"), (0.9996, "1 s"), (59.97, "1 min"), (3599.4, "59 min 59 s")),
        *((3599.7, "1 h"), (86369.0, "23 h 59 min"), (86399.9, "1 d"), (172799.0, "2 d")),
    ],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
