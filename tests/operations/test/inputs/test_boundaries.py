"""The values at which the branches of a function decide otherwise."""

from typing import Any

import pytest

from remora.operations.test.inputs.boundaries import boundary_values
from remora.operations.test.target_function import TargetFunction, find_target


def values(code: str, shown: Any, **others: str) -> list[object]:
    subject = find_target("a.py", code.encode(), "f", lambda _: False)
    assert isinstance(subject, TargetFunction)
    return boundary_values(subject, "x", {"x": repr(shown), **others})


@pytest.mark.parametrize(
    ("condition", "shown", "expected"),
    [
        ("x >= 50", 7, [49, 50, 51]),
        ("50 > x", 7, [49, 50, 51]),
        ("0 < x <= 3", 7, [-1, 0, 1, 2, 3, 4]),
        ("x >= 50", "a", []),
        ("x == 'left'", "right", ["left"]),
        ("x in ('left', 'right')", "right", ["left"]),
        ("x is None", "a", [None]),
        ("len(x) > 2", "abcd", ["a", "ab", "abc"]),
        ("len(x) > 2", [5], [[5, 5], [5, 5, 5]]),
        ("len(x) > 80", "abcd", []),
        ("x", "a", [""]),
        ("not x", [1], [[]]),
        ("y and x", 4, [0]),
        ("x", True, [False]),
        ("x", None, []),
        ("x > unknown", 4, []),
        ("x > 0", 7.5, [0.0]),
        ("x == 0", True, []),
        ("x > y", 7, [2, 3, 4]),
        ("x > LIMIT", 7, [49, 50, 51]),
        ("len(x) > limit", "ab", ["a", "aba"]),
        ("x.startswith(PREFIX)", "a", ["/a"]),
        ("x in SIDES", "a", ["left"]),
        ("x.strip().lower() == 'left'", "a", ["left"]),
        ("abs(x) > 50", 7, [49, 50, 51]),
        ("x.upper() == 'LEFT'", "a", []),
        ("y > 50", 7, []),
        ("x == 1.5", 2.0, [1.5]),
        ("x.startswith('/')", "a", ["/a"]),
        ("x.endswith('k')", "10", ["10k"]),
        ("x.endswith('k')", 10, []),
    ],
)
def test_values_on_both_sides_of_each_condition(condition: str, shown: Any, expected: Any) -> None:
    code = f"LIMIT = 50\nPREFIX = '/'\nSIDES = ['left', 3]\n\ndef f(x, y, limit=2):\n    if {condition}:\n        return 1\n"
    assert values(code, shown, y="3") == expected


def test_an_argument_of_unknown_value_or_none_is_no_limit() -> None:
    code = "def f(x, y=None):\n    return x == y or x > y\n"
    assert values(code, 7) == []
    assert values(code, 7, y="limit()") == []


def test_a_name_of_the_same_value_is_the_parameter() -> None:
    code = "def f(x):\n    size = int(x)\n    rest = size - 1\n    return size > 3 or rest > 80\n"
    assert values(code, 7) == [2, 3, 4]


def test_the_default_says_nothing_beyond_a_call_without_it() -> None:
    code = "def f(x=3, strict=False):\n    return x > 3 if not strict else x\n"
    assert values(code, 7) == [2, 4]


def test_conditions_of_inner_functions_are_others() -> None:
    code = "def f(x):\n    def g(x):\n        return x > 3\n    return g(x) if x else 0\n"
    assert values(code, 7) == [0]
