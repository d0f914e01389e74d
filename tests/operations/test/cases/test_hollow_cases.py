"""Calls that say nothing to a reader."""

import pytest

from remora.operations.test.cases.case import Case
from remora.operations.test.cases.hollow_cases import is_hollow, is_hollow_call

HOLLOW_CALLS = [
    ("decode(b'hello')", (), "27756"),
    ("timeout()", (), "0.001"),
    ("stack.is_empty()", ("stack = Stack()",), "True"),
]
HOLLOW_RESULTS = [
    ("error.is_error()", ("error = Error('Hello')",), "True"),
    ("codes('Hello, World')", (), "[72, 101, 108, 108, 111, 44, 32, 87, 111, 114]"),
]
TELLING = [
    ("version.text()", ("version = Version(1, 2)",), "'1.2'"),
    ("slug('Hello, World')", (), "'hello-world'"),
]


def case(call: str, setup: tuple[str, ...], value: str, source: str = "value") -> Case:
    return Case(call=call, setup=setup, value=value, source=source)  # type: ignore[arg-type]


@pytest.mark.parametrize(("call", "setup", "value"), HOLLOW_CALLS)
def test_hollow_calls(call: str, setup: tuple[str, ...], value: str) -> None:
    assert is_hollow_call(case(call, setup, value))
    assert is_hollow(case(call, setup, value))
    assert not is_hollow(case(call, setup, value, "documentation"))


@pytest.mark.parametrize(("call", "setup", "value"), HOLLOW_RESULTS)
def test_hollow_results(call: str, setup: tuple[str, ...], value: str) -> None:
    assert not is_hollow_call(case(call, setup, value))
    assert is_hollow(case(call, setup, value))
    assert not is_hollow(case(call, setup, value, "test"))


@pytest.mark.parametrize(("call", "setup", "value"), TELLING)
def test_telling_calls(call: str, setup: tuple[str, ...], value: str) -> None:
    assert not is_hollow(case(call, setup, value))
