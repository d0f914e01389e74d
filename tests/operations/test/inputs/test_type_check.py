"""Calls that annotations allow."""

import pytest

from remora.operations.test.inputs.type_check import contradicts
from remora.operations.test.target_function import TargetFunction, find_target


def subject(source: str, node: str) -> TargetFunction:
    found = find_target("mod.py", source.encode(), node, lambda _: False)
    assert isinstance(found, TargetFunction), found
    return found


FITTING = """
from typing import Literal, Optional, Union

Number = Union[float, str]


def f(a: Number, b: "int | None" = 1, c: Literal["r"] = "r", d: int = None, e=0, g: Shop = 2):
    return a
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(1)", False), ("f('x')", False), ("f(None)", True), ("f([1])", True), ("f(1, None)", False),
        ("f(1, 'x')", True), ("f(1, c='w')", True), ("f(1, d=None)", False), ("f(1, e=None)", False),
        ("f(1, g='x')", False), ("f(unknown)", False),
    ],
)  # fmt: skip
def test_what_annotations_allow(call: str, expected: bool) -> None:
    assert contradicts(subject(FITTING, "f"), call) == expected


def test_none_is_not_asserted_unless_the_function_mentions_it() -> None:
    assert contradicts(subject("def f(a):\n    return a\n", "f"), "f(None)")
    assert not contradicts(subject("def f(a):\n    return a is None\n", "f"), "f(None)")
