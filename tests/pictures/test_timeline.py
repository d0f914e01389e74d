"""The timeline: bars in lanes that do not overlap, for runs with a model."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from remora.pictures.job_time import JobTime, Span
from remora.pictures.timeline import lanes_of, timeline
from tests.pictures.drawn import HOSTILE, assert_harmless, boxes, height, parsed, texts

START = 1.79e9
STATES = (
    *("verified", "no_change", "failed", "error", "interrupted", "running", "conflict"),
    "new state",
)


def job(number: int, start: float, seconds: float, status: str = "verified") -> JobTime:
    third = seconds / 3
    return JobTime(
        agent_id=f"lint-{number}",
        operation="lint",
        node_id=f"node:src/a{number}.py:load",
        attempt=1,
        status=status,
        start=START + start,
        end=START + start + seconds,
        spans=(
            Span("model", START + start, START + start + third),
            Span("checks", START + start + 2 * third, START + start + seconds),
        ),
    )


JOBS = st.lists(
    st.builds(
        job, st.integers(0, 99), st.floats(0, 9000), st.floats(1, 900), st.sampled_from(STATES)
    ),
    min_size=1,
    max_size=40,
)


@given(JOBS)
def test_bars_are_within_the_picture(jobs: list[JobTime]) -> None:
    picture = timeline(jobs)
    bars = boxes(picture, "state-")
    assert len(bars) == len(jobs)
    for bar in bars:
        assert 0 <= bar.x <= bar.right <= 901.1
        assert 0 <= bar.y <= bar.bottom <= height(picture)
    for wait in boxes(picture, "activity-"):
        assert any(bar.x - 0.15 <= wait.x <= wait.right <= bar.right + 0.15 for bar in bars)


@given(JOBS)
def test_jobs_of_a_lane_do_not_overlap_and_none_is_lost(jobs: list[JobTime]) -> None:
    lanes = lanes_of(jobs)
    assert sorted(map(id, jobs)) == sorted(id(each) for lane in lanes for each in lane)
    for lane in lanes:
        assert all(one.end <= other.start for one, other in itertools.pairwise(lane))


def test_one_job_fills_the_axis() -> None:
    picture = timeline([job(1, 0, 12)])
    ((x, _, right, _),) = boxes(picture, "state-")
    assert (x, right) == (0, 900)
    title = (
        "lint src/a1.py:load: verified in 12.0 s, waiting for the model 4.0 s, verification 4.0 s"
    )
    assert title in texts(picture, "title")
    assert "33% waiting for the model" in texts(picture, "figcaption")[0]


def test_a_run_without_a_model_has_no_picture() -> None:
    assert timeline([]) == ""
    assert timeline([replace(job(1, 0, 12), spans=(Span("tools", START, START + 1),))]) == ""


def test_of_thousands_of_jobs_the_longest_are_drawn() -> None:
    picture = timeline([job(number, number * 10, 1 + number % 9) for number in range(2000)])
    assert len(picture) < 600_000
    assert len(boxes(picture, "state-")) == 500
    assert "1,500 shorter jobs are not drawn." in texts(picture, "figcaption")[0]


def test_hours_between_a_run_and_its_continuation_are_left_out() -> None:
    picture = timeline([job(1, 0, 10, "interrupted"), job(2, 12010, 10)])
    first, second = boxes(picture, "state-")
    assert first.right == pytest.approx(second.x) == pytest.approx(450)


def test_states_differ_by_more_than_color() -> None:
    jobs = [job(number, number, 1, status) for number, status in enumerate(STATES)]
    bars = [text for text in texts(timeline(jobs), "text") if text.endswith("load")]
    assert len({text[0] for text in bars}) == len(STATES)


def test_jobs_are_links_where_a_page_is_known() -> None:
    picture = timeline([job(1, 0, 1), job(2, 1, 1)], href=lambda time: f"/job?id={time.agent_id}")
    assert [each.attrib["href"] for each in parsed(picture).iter("a")] == [
        "/job?id=lint-1",
        "/job?id=lint-2",
    ]
    (drawing,) = parsed(picture).iter("svg")
    assert drawing.attrib["role"] == "group", "the parts of an image cannot be reached"


def test_hostile_names_are_text() -> None:
    odd = replace(
        job(1, 0, 1), node_id=f"node:{HOSTILE}:{HOSTILE}", operation=HOSTILE, status=HOSTILE
    )
    picture = timeline([odd, job(2, 1, 1)], href=lambda time: f"javascript:{time.node_id}")
    assert_harmless(picture)
    assert "<script>alert(1)</script>" in texts(picture, "title")[1]


@pytest.mark.parametrize("year", [1e13, -1e13])
def test_impossible_years_are_no_error(year: float) -> None:
    assert_harmless(timeline([job(1, year, 1), job(2, 0, 1)]))
