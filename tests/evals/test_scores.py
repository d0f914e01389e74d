"""Shares of an arm's results, and their intervals."""

import pytest

from remora.evals.scores import differences, estimates, wilson_interval
from tests.evals.results import result

MIXED = [
    result("a.py", "exact"),
    result("a.py", "different"),
    result("b.py", "equivalent"),
    result("b.py", "left"),
]


def test_written_texts_with_the_same_meaning_are_right() -> None:
    shares = {name: each.value for name, each in estimates("people", MIXED, seed=0).items()}
    assert shares == {"precision": pytest.approx(2 / 3), "coverage": 0.75, "restored": 0.5}


def test_verified_change_sets_are_right() -> None:
    jobs = [result("a.py", "verified"), result("a.py", "failed"), result("b.py", "nothing")]
    found = estimates("checks", jobs, seed=0)
    assert {name: each.value for name, each in found.items()} == {"verified": pytest.approx(1 / 3)}


def test_intervals_come_from_drawing_whole_files() -> None:
    unlike = [*[result("a.py", "exact")] * 50, *[result("b.py", "different")] * 50]
    found = estimates("people", unlike, seed=0)["precision"]
    assert found.interval == (0.0, 1.0), "each file alone has one of these precisions"
    assert found == estimates("people", unlike, seed=0)["precision"], "the seed decides"


def test_the_interval_of_few_parts_is_wide_also_if_all_agree() -> None:
    few, many = ([result(f"{n}.py", "exact") for n in range(number)] for number in (5, 100))
    intervals = [estimates("people", each, seed=0)["precision"].interval for each in (few, many)]
    assert intervals[0] == pytest.approx((0.566, 1.0), abs=0.001)
    assert intervals[1] == pytest.approx((0.963, 1.0), abs=0.001)


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
    found = estimates("people", [result("a.py", "left"), result("a.py", "left")], seed=0)
    assert (found["precision"].value, found["precision"].interval) == (None, None)
    assert found["coverage"].value == 0.0
    assert found["coverage"].interval == pytest.approx((0.0, 0.658), abs=0.001)


def test_arms_are_compared_on_the_same_files() -> None:
    better = [result("a.py", "exact"), result("a.py", "exact"), *MIXED[2:]]
    found = differences("people", MIXED, better, seed=0)
    assert found["restored"].value == 0.25
    assert found["coverage"].interval == (0.0, 0.0), "both wrote the same in each file"
    assert differences("people", MIXED, MIXED, seed=0)["precision"].interval == (0.0, 0.0)
