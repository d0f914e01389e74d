"""Calls with invented arguments that say nothing to a reader."""

import pytest

from remora.operations.test.cases.best_cases import is_hollow
from remora.operations.test.cases.case import Case


@pytest.mark.parametrize(
    ("call", "setup", "value", "expected"),
    [
        ("decode(b'hello')", (), "27756", True),
        ("timeout()", (), "0.001", True),
        ("stack.is_empty()", ("stack = Stack()",), "True", True),
        ("error.is_error()", ("error = Error('Hello')",), "True", True),
        ("version.text()", ("version = Version(1, 2)",), "'1.2'", False),
        ("codes('Hello, World')", (), "[72, 101, 108, 108, 111, 44, 32, 87, 111, 114]", True),
        ("slug('Hello, World')", (), "'hello-world'", False),
    ],
)
def test_hollow(call: str, setup: tuple[str, ...], value: str, expected: bool) -> None:
    case = Case(call=call, setup=setup, value=value, source="value")
    assert is_hollow(case) is expected
    shown = Case(call=call, setup=setup, value=value, source="documentation")
    assert not is_hollow(shown)
