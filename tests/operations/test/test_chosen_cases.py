"""Which calls become a test."""

from typing import Any

import pytest

from remora.operations.test.cases.case import Case, case_of
from remora.operations.test.chosen_cases import NOT_DETECTED, NOTHING_SHOWN, chosen_cases
from remora.operations.test.inputs.call_input import CallInput, Source
from remora.operations.test.runner.trials import TrialResults
from remora.operations.test.target_function import TargetFunction, find_target

SOURCE = b"def f(text) -> bool:\n    return bool(text)\n"


def subject() -> TargetFunction:
    found = find_target("mod.py", SOURCE, "f", lambda _path: False)
    assert isinstance(found, TargetFunction)
    return found


def chosen(
    *cases: tuple[Case, set[int]],
    is_first: bool = True,
    problems: list[tuple[str, str]] | None = None,
) -> tuple[list[str], str]:
    killed = [frozenset(dead) for _, dead in cases]
    found = TrialResults([case for case, _ in cases], killed, problems or [])
    some, why = chosen_cases(subject(), found, is_first=is_first)
    return [case.call for case in some], why


def case(call: str, value: str = "True", source: Source = "call", **more: Any) -> Case:
    return Case(call=call, value=value, source=source, **more)


def raising(call: str) -> Case:
    return Case(call=call, raises="ValueError", source="call")


def test_the_fewest_calls_that_detect_most_faults_are_taken() -> None:
    found = chosen((case("f(1)"), {1}), (case("f(2)"), {1, 2}), (case("f(3)"), {3}))
    assert found == (["f(2)", "f(3)"], "")


def test_of_equal_calls_the_shorter_one_is_taken_and_exceptions_come_last() -> None:
    found = chosen((raising("f('')"), {2}), (case("f('a long text')"), {1}), (case("f(1)"), {1}))
    assert found == (["f(1)", "f('')"], "")


def test_of_equal_calls_one_with_a_result_that_says_something_is_taken() -> None:
    shown = case("f('some text')", "True")
    assert chosen((case("f(0)", "False"), {1}), (shown, {1})) == (["f('some text')"], "")


def test_a_call_that_detects_nothing_is_no_test() -> None:
    assert chosen((case("f(1)"), set())) == ([], NOT_DETECTED)
    late = "it takes longer than a second"
    assert chosen((case("f(1)"), set()), problems=[("f(2)", late)]) == ([], f"f(2): {late}")


def test_the_first_test_of_a_function_says_more_than_nothing() -> None:
    trivial = [(case("f('')", "False"), {1}), (raising("f(0)"), {2})]
    assert chosen(*trivial) == ([], NOTHING_SHOWN)
    assert chosen(*trivial, is_first=False) == (["f('')", "f(0)"], "")


def test_results_that_contradict_the_function_or_differ_between_machines_are_left_out() -> None:
    assert chosen((case("f(1)", "3"), {1}))[1] == (
        "f(1): its result contradicts the annotation or the name of the function"
    )
    assert chosen((case("f(1)", "[[0.1234567890123]]"), {1}))[1] == (
        "f(1): its result has floats that cannot be compared exactly"
    )
    long = f"f({'x' * 80!r})"
    assert chosen((case(long), {1}))[1] == f"{long}: its call or result is too long to read"


def test_equal_calls_after_other_statements_are_judged_apart() -> None:
    good = case("f(x)", setup=("x = 'a'",))
    bad = case("f(x)", "3", setup=("x = 'b'",))
    found = TrialResults([good, bad], [frozenset({1}), frozenset({1, 2})], [])
    for tried in (found, found._replace(cases=[bad, good], killed=found.killed[::-1])):
        assert chosen_cases(subject(), tried, is_first=True) == ([good], "")
    late = [("f(x)", "it takes longer than a second")]
    assert chosen((good, set()), problems=late) == ([], "f(x): it takes longer than a second")


def test_further_examples_with_another_result_are_added_to_a_first_test() -> None:
    shown = [(case(f"f({n})[:]", f"'{n % 3}'", "docstring"), {1}) for n in range(9)]
    assert chosen(*shown) == (["f(0)[:]", "f(1)[:]", "f(2)[:]"], "")
    assert chosen(*shown, is_first=False) == (["f(0)[:]"], "")


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (Case(call="f('')", raises="Exception"), "it raises an exception of no specific class"),
        (Case(call="f('')", value="None"), "it returns nothing"),
        (
            Case(call="f('a')", claims=(("{}.text", "'a'"), ("{}.size", "0"))),
            "the attributes of its result say little",
        ),
        (
            Case(call="f('a b')", claims=(("{}.text", "'a'"), ("{}.size", "3"))),
            "the attributes of its result say little",
        ),
        (
            case("f(a)", setup=tuple(f"a = {n}" for n in range(13))),
            "its call or result is too long to read",
        ),
    ],
)
def test_what_says_nothing_to_a_reader_is_left_out(refused: Case, reason: str) -> None:
    assert chosen((refused, {1})) == ([], f"{refused.call}: {reason}")


def told(text: str) -> dict[str, object]:
    return {"how": "value", "claims": [("{}", text)], "lines": [2]}


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        (told("Point(1, 2)"), told("Point(1, 2)"), None),  # its import is unknown
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
    assert on_purpose == Case(call="f()", raises="Lost", origin="m")
    assert case_of(CallInput(call="f()"), [seen, seen], lambda *_: False, "-") is None
