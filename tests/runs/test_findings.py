"""What is said of findings: which went, which stayed, and how many of all."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remora.runs.findings import docstrings_of_all, fixed, fixed_and_left, fixed_of_all

CODES = st.dictionaries(st.sampled_from("ABCDE"), st.integers(1, 5))


def job(
    status: str, before: dict[str, int], after: dict[str, int], review: str = "pending"
) -> dict[str, Any]:
    return {"status": status, "review": review, "findings": {"before": before, "after": after}}


@given(CODES, CODES)
def test_what_is_fixed_was_there_before(before: dict[str, int], after: dict[str, int]) -> None:
    gone = fixed(before, after)
    assert all(gone[code] == before[code] - after.get(code, 0) for code in gone)
    assert all(after.get(code, 0) >= before[code] for code in before if code not in gone)


def test_what_is_not_verified_fixes_nothing() -> None:
    assert fixed_and_left(job("submitted", {"A": 2, "B": 1}, {"B": 1})) == ({"A": 2}, {"B": 1})
    assert fixed_and_left(job("failed", {"A": 2}, {})) == ({}, {"A": 2})
    assert fixed_and_left({"status": "submitted", "findings": None}) is None


def test_of_all_that_were_planned() -> None:
    jobs = [job("submitted", {"A": 2}, {}), job("no_change", {"B": 1}, {"B": 1})]
    assert fixed_of_all(jobs, 3) == (2, 3)
    assert fixed_of_all(jobs, 9) == (2, 9)  # some jobs had not begun
    refused = [job("submitted", {"A": 2}, {}, review) for review in ("rejected", "conflict")]
    assert fixed_of_all([*jobs, *refused], 3) == (2, 7)
    assert fixed_of_all([{"status": "error", "findings": None}], 9) is None


def test_docstrings_are_counted_apart() -> None:
    jobs = [
        job("submitted", {"A": 2}, {}),
        job("submitted", {"missing docstring": 1}, {}),
        job("submitted", {"outdated docstring": 1}, {}),
        job("no_change", {"missing docstring": 1}, {"missing docstring": 1}),
        job("submitted", {"missing docstring": 1}, {}, "rejected"),
    ]
    assert docstrings_of_all(jobs) == (1, 1, 4)
    assert fixed_of_all(jobs, 2) == (2, 2)
    assert docstrings_of_all(jobs[:1]) is None
