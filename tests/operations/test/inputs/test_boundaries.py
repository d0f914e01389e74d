"""The values at which the branches of a function decide otherwise."""

import ast
from typing import Any

import pytest

from remora.operations.test.inputs.boundaries import boundary_values


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
        ("x", True, []),
        ("x", None, []),
        ("x > limit", 4, []),
        ("y > 50", 7, []),
        ("x == 1.5", 2.0, [1.5]),
        ("x.startswith('/')", "a", ["/a"]),
        ("x.endswith('k')", "10", ["10k"]),
        ("x.endswith('k')", 10, []),
    ],
)
def test_values_on_both_sides_of_each_condition(condition: str, shown: Any, expected: Any) -> None:
    (function,) = ast.parse(f"def f(x, y):\n    if {condition}:\n        return 1").body
    assert isinstance(function, ast.FunctionDef)
    assert boundary_values(function, "x", shown) == expected


def test_conditions_of_inner_functions_are_others() -> None:
    text = "def f(x):\n    def g(x):\n        return x > 3\n    return g(x) if x else 0"
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    assert boundary_values(function, "x", 7) == [0]
