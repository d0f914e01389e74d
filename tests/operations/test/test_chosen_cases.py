"""Which calls become a test."""

from typing import Any

import pytest

from remora.operations.test.cases.case import Case, case_of, case_problem
from remora.operations.test.further_plan import chosen_cases
from remora.operations.test.inputs.call_input import CallInput
from remora.operations.test.runner.trials import TrialResults


def chosen(*cases: tuple[Case, set[int]]) -> list[str]:
    made, killed = [case for case, _ in cases], [frozenset(dead) for _, dead in cases]
    return [case.call for case in chosen_cases(TrialResults(made, killed), made)]


def case(call: str, value: str = "True", **more: Any) -> Case:
    return Case(call=call, value=value, **more)


def raising(call: str) -> Case:
    return Case(call=call, raises="ValueError")


def test_the_fewest_calls_that_detect_most_faults_are_taken() -> None:
    found = chosen((case("f(1)"), {1}), (case("f(2)"), {1, 2}), (case("f(3)"), {3}))
    assert found == ["f(2)", "f(3)"]
    assert chosen((case("f(1)"), set())) == []


def test_of_equal_calls_the_shorter_one_is_taken_and_exceptions_come_last() -> None:
    found = chosen((raising("f('')"), {2}), (case("f('a long text')"), {1}), (case("f(1)"), {1}))
    assert found == ["f(1)", "f('')"]


def test_of_equal_calls_one_with_a_result_that_says_something_is_taken() -> None:
    shown = case("f('some text')", "True")
    assert chosen((case("f(0)", "False"), {1}), (shown, {1})) == ["f('some text')"]


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (case("f('')", "", raises="Exception"), "it raises an exception of no specific class"),
        (
            case("f(1)", "[0.1234567890123]"),
            "its result has floats that cannot be compared exactly",
        ),
        (case(f"f({'x' * 80!r})"), "its call or result is too long to read"),
        (
            case("f(a)", setup=tuple(f"a = {n}" for n in range(13))),
            "its call or result is too long to read",
        ),
        (case("f(1)", "[0.5]"), ""),
    ],
)
def test_what_differs_between_machines_or_is_hard_to_read_is_left_out(
    refused: Case, reason: str
) -> None:
    assert case_problem(refused) == reason
    assert (chosen((refused, {1})) == []) == bool(reason)


@pytest.mark.parametrize(
    ("shown", "value", "is_same"),
    [("5", "5", True), ('"a"', "'a'", True), ("{2, 1}", "{1, 2}", True), ("5.0", "5", False),
     ("Point(1)", "Point(1)", False), ("", "5", False)],
)  # fmt: skip
def test_a_result_is_compared_with_the_shown_one(shown: str, value: str, is_same: bool) -> None:
    assert case("f()", value, shown=shown).is_as_shown is is_same


def told(text: str) -> dict[str, object]:
    return {"how": "value", "claims": [("{}", text)], "lines": [2]}


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        (told("Point(1, 2)"), told("Point(1, 2)"), None),
        (told("1"), told("1"), "1"),
        (told("1"), told("2"), None),
        (told("<object at 0x7f>"), told("<object at 0x7f>"), None),
        (told("nan"), told("nan"), None),
        (told("'/made/here/x'"), told("'/made/here/x'"), None),
        (told("1"), None, None),
        ({"how": "late"}, {"how": "late"}, None),
    ],
)
def test_expected_values_are_asserted(
    first: dict[str, object], second: dict[str, object] | None, value: str | None
) -> None:
    found = case_of(CallInput(call="f()"), [first, second], lambda *_: True, "/made/here")
    assert (found and found.value) == value


def test_exceptions_count_where_the_project_raises_them() -> None:
    seen = {"how": "raised", "type": "Lost", "module": "m", "path": "/p/m.py", "line": 4}
    on_purpose = case_of(
        CallInput(call="f()"), [seen, seen], lambda path, line: (path, line) == ("/p/m.py", 4), "-"
    )
    assert on_purpose == Case(call="f()", raises="Lost")
    assert case_of(CallInput(call="f()"), [seen, seen], lambda *_: False, "-") is None
