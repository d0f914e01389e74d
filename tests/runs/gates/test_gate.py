"""Comparisons of what gates say of two states."""

from remora.runs.gates.gate import compared, problems, worse


def test_moved_problems_are_the_same_and_swapped_ones_are_not() -> None:
    """Lines and other numbers may change, but not the code or the message."""
    before = problems(["a.py:3:1: E501 Line too long (90 > 88)", "b.py:4: arg-type expects str"])
    moved = problems(["a.py:5:1: E501 Line too long (95 > 88)", "b.py:9: arg-type expects str"])
    assert worse(before, moved) == []
    swapped = problems(["a.py:3:1: E501 Line too long (90 > 88)", "b.py:4: arg-type expects int"])
    assert worse(before, swapped) == ["b.py: arg-type expects int"]
    assert worse(before, {}) == []


def test_more_of_a_problem_is_worse() -> None:
    one, three = problems(["a.py:3:1: F401"]), problems([f"a.py:{line}:1: F401" for line in "345"])
    assert worse(one, three) == ["a.py: F401 (x2)"]
    assert worse(three, one) == []


def test_tests_that_are_gone_skipped_or_fail_are_worse() -> None:
    before = {"t.py::gone": 2, "t.py::skipped": 2, "t.py::fails": 2, "t.py::bad": 2}
    before |= {"t.py::bad fails": -1}
    after = {"t.py::skipped": 1, "t.py::fails": 2, "t.py::fails fails": -1, "t.py::bad": 2}
    assert worse(before, after | {"t.py::new": 2, "t.py::bad fails": -1}) == [
        "t.py::gone is no longer collected",
        "t.py::skipped is skipped",
        "t.py::fails fails",
    ]


def test_what_differs_between_two_runs_judges_nothing() -> None:
    base, differing = compared({"t.py::a": 2, "t.py::b": 2}, {"t.py::a": 2, "t.py::b fails": -1})
    assert differing == ["t.py::b", "t.py::b fails"]
    assert worse(base, {"t.py::a": 2}) == []
    assert worse(base, {"t.py::b": 2}) == ["t.py::a is no longer collected"]
