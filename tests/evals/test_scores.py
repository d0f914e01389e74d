"""Precision and coverage of an arm, and their intervals."""

import pytest

from remora.evals.scores import (
    by_kind,
    by_source,
    differences,
    estimates,
    outcomes_of,
    wilson_interval,
)
from remora.evals.slot_results import SlotResult
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
    unlike = [*[result("a.py", "exact")] * 50, *[result("b.py", "different")] * 50]
    found = estimates(unlike, seed=0)["precision"]
    assert found.interval == (0.0, 1.0), "each file alone has one of these precisions"
    assert found == estimates(unlike, seed=0)["precision"], "the seed decides"


def test_the_interval_of_few_parts_is_wide_also_if_all_agree() -> None:
    few, many = ([result(f"{n}.py", "exact") for n in range(number)] for number in (5, 100))
    of_few, of_many = (estimates(each, seed=0)["precision"].interval for each in (few, many))
    assert of_few == pytest.approx((0.566, 1.0), abs=0.001)
    assert of_many == pytest.approx((0.963, 1.0), abs=0.001)


def test_the_wilson_interval_is_that_of_the_literature() -> None:
    """Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I."""
    for right, number, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson_interval(right / number, number) == pytest.approx((low, high), abs=1e-4)


def test_nothing_written_has_no_precision() -> None:
    left = [result("a.py", "left"), result("a.py", "left")]
    found = estimates(left, seed=0)
    assert (found["precision"].value, found["precision"].interval) == (None, None)
    assert found["coverage"].value == 0.0
    assert found["coverage"].interval == pytest.approx((0.0, 0.658), abs=0.001)


def test_arms_are_compared_on_the_same_files() -> None:
    better = [result("a.py", "exact"), result("a.py", "exact"), *MIXED[2:]]
    found = differences(MIXED, better, seed=0)
    assert found["restored"].value == 0.25
    assert found["coverage"].interval == (0.0, 0.0), "both wrote the same in each file"
    assert differences(MIXED, MIXED, seed=0)["precision"].interval == (0.0, 0.0)
