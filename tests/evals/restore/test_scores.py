"""Precision and coverage of an arm, and their intervals."""

import pytest

from remora.evals.restore.scores import (
    by_kind,
    by_source,
    curve,
    differences,
    estimates,
    outcomes_of,
)
from remora.evals.restore.slot_results import SlotResult
from remora.operations.restorer import Outcome, Slot, Source


def result(
    path: str, outcome: Outcome, probability: float | None = None, source: Source = "ranker"
) -> SlotResult:
    slot = Slot(path=path, number=0, qualname="f", part="return", text="int")
    written = None if outcome == "left" else source
    return SlotResult(
        slot=slot, kind="return", outcome=outcome, probability=probability, source=written
    )


MIXED = [
    result("a.py", "exact", 0.9),
    result("a.py", "different", 0.5, "checker"),
    result("b.py", "equivalent", 0.8),
    result("b.py", "left"),
]


def test_written_texts_with_the_same_meaning_are_right() -> None:
    found = estimates(MIXED, seed=0)
    shares = {name: each.value for name, each in found.items()}
    assert shares == {"precision": pytest.approx(2 / 3), "coverage": 0.75, "restored": 0.5}
    assert outcomes_of(MIXED) == {"exact": 1, "equivalent": 1, "different": 1, "left": 1}
    assert by_kind(MIXED) == {"return": outcomes_of(MIXED)}
    assert {name: tuple(each) for name, each in by_source(MIXED).items()} == {
        "checker": (1, 1, 0),
        "ranker": (2, 2, 2),
    }


def test_intervals_come_from_drawing_whole_files() -> None:
    found = estimates(MIXED, seed=0)["precision"]
    assert found.interval == (0.5, 1.0), "each file alone has one of these precisions"
    assert found == estimates(MIXED, seed=0)["precision"], "the seed decides"


def test_one_file_has_no_interval_and_nothing_written_no_precision() -> None:
    left = [result("a.py", "left"), result("a.py", "left")]
    found = estimates(left, seed=0)
    assert (found["precision"].value, found["precision"].interval) == (None, None)
    assert (found["coverage"].value, found["coverage"].interval) == (0.0, None)


def test_arms_are_compared_on_the_same_files() -> None:
    better = [result("a.py", "exact"), result("a.py", "exact"), *MIXED[2:]]
    found = differences(MIXED, better, seed=0)
    assert found["restored"].value == 0.25
    assert found["coverage"].interval == (0.0, 0.0), "both wrote the same in each file"
    assert differences(MIXED, MIXED, seed=0)["precision"].interval == (0.0, 0.0)


def test_the_curve_takes_the_likeliest_texts_first() -> None:
    assert curve(MIXED) == [(0.25, 1.0, 0.9), (0.5, 1.0, 0.8), (0.75, pytest.approx(2 / 3), 0.5)]
    assert curve([result("a.py", "exact")]) == [], "no probability is known"


def test_the_curve_of_many_texts_keeps_its_end() -> None:
    many = [result("a.py", "exact", number / 1000) for number in range(1000)]
    points = curve(many)
    assert len(points) == 100
    assert points[-1] == (1.0, 1.0, 0.0)
