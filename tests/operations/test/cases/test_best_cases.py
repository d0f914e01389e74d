"""Which calls become cases of a test."""

import pytest
from msgspec.structs import replace

from remora.operations.test.cases.best_cases import best_cases, further_cases
from remora.operations.test.cases.case import Case, case_of
from remora.operations.test.inputs.call_input import CallInput, Source


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


def chosen(cases: list[Case], *killed: set[int]) -> list[str]:
    return [case.call for case in best_cases(cases, [frozenset(one) for one in killed])]


def examples(*values: str, source: Source = "docstring") -> list[Case]:
    return [
        Case(call=f"f({n})", value=value, source=source, lines=(n % 2,))
        for n, value in enumerate(values)
    ]


def test_a_lone_result_is_none_of_the_arguments() -> None:
    lone = Case(call="d.get(5, default=0)", value="0", source="documentation")
    other = Case(call="d.get(4, default=0)", value="'fig'", source="documentation")
    assert chosen([lone], {1}) == []
    assert chosen([lone, other], {1}, {2}) == [lone.call, other.call]
    assert chosen([replace(lone, call="f(2.5, 4.0)", value="(2.5, 4.0)")], {1}) == []
    made = replace(lone, call="str(page.partial())", setup=("page = Page('/a')",), value="'/a'")
    assert chosen([made], {1}) == []


def test_as_few_cases_as_tell_all_faults_apart() -> None:
    assert chosen(examples(*"9999"), {1}, {1, 2}, {2, 3}, set()) == ["f(1)", "f(2)"]
    assert chosen(examples("9"), set()) == []
    assert chosen(examples("[]"), {1}) == []


def test_exceptions_alone_are_no_test() -> None:
    refused = Case(call="f('')", raises="ValueError", source="docstring")
    assert chosen([refused], {1, 2}) == []
    assert chosen([refused, *examples("9")], {1, 2}, {3}) == ["f(0)", "f('')"]


def test_examples_that_people_wrote_come_before_better_ones() -> None:
    shown, tested = case("f(0)", "1", 1), case("f(2)", "4", 1, source="test")
    assert chosen([tested, shown], {1}, {1}) == ["f(0)"]
    assert chosen([tested, shown], {1, 2}, {1}) == ["f(2)", "f(0)"]


def test_texts_without_letters_come_last() -> None:
    cases = [Case(call="f('.')", value="1"), Case(call="f('a')", value="2")]
    assert chosen(cases, {1, 2}, {1, 2}) == ["f('a')"]


def test_two_show_what_the_difference_makes() -> None:
    assert len(chosen(examples("'one'", "'two'"), {1}, set())) == 2


def case(call: str, value: str, *branches: int, source: Source = "docstring") -> Case:
    return Case(call=call, value=value, source=source, branches=tuple((0, n) for n in branches))


def test_further_cases_take_new_branches_or_detect_new_faults() -> None:
    cases = [case("f('a')", "'b'", 1), case("f('c')", "'b'", 1), case("f('')", "''", 2)]
    assert chosen(cases, {1, 2}, {1}, set()) == ["f('a')", "f('')"]


def test_more_documented_examples_with_another_result_are_added() -> None:
    assert chosen(examples(*"1225"), {1}, {1, 2}, set(), set()) == ["f(0)", "f(1)", "f(3)"]
    answers = examples("True", "False", "True", "False", "False")
    assert len(chosen(answers, {1}, {2}, set(), set(), set())) == 4


def test_results_that_another_argument_changes_are_telling() -> None:
    cases = [
        case("port('80', 'http')", "''", 1, source="test"),
        case("port('80', 'https')", "'80'", 2, source="test"),
    ]
    assert chosen(cases, {1}, {2}) == [one.call for one in cases]
    assert chosen(cases[1:], {2}) == []


def test_few_statements_and_no_long_texts_are_before_the_calls() -> None:
    setups = (("a = A()", "a.x = 1"), ("b = A()", "b.x = 1", "b.y = 2", "b.z = 3", "b.add(4)"))
    cases = [
        replace(case(f"{one[0][0]}.f(5)", value, number, source="test"), setup=one)
        for number, (one, value) in enumerate(zip(setups, ("7", "8"), strict=True))
    ]
    assert chosen(cases, {1}, {2}) == ["a.f(5)"]
    long = replace(cases[0], setup=(f"a = A('{'long text ' * 8}')",))
    assert chosen([long], {1}) == []
    for lines, found in ((9, ["a.f(5)"]), (20, [])):
        text = "line of a text\n" * lines
        assert chosen([replace(cases[0], setup=(f"a = {text!r}",))], {1}) == found


def test_results_of_many_lines_are_left_out() -> None:
    rows = ", ".join(f"({n}, 'row number {n}')" for n in range(8))
    assert chosen([case("f(8)", f"[{rows}]", 1, source="docstring")], {1}) == []


def test_at_most_two_results_are_assigned_unless_a_table_holds_the_calls() -> None:
    text = "'a text of twenty-five chars'"
    wide = [case(f"f({text}, {text}, {n}, {n}, x={n})", f"'result {n}'", n) for n in (1, 2, 3)]
    assert len(chosen(wide, {1}, {2}, {3})) == 2
    few = [case(f"f({text}, {text}, {n})", f"'another result {n}'", n) for n in (1, 2, 3)]
    assert len(chosen(few, {1}, {2}, {3})) == 3


def test_cases_beside_existing_tests_may_be_trivial_but_not_only_exceptions() -> None:
    false = Case(call="f(1)", value="False", source="test")
    refused = Case(call="f(2)", raises="ValueError", source="test")
    same = Case(call="f(3)", value="False", source="test")
    killed = [frozenset({1}), frozenset({2}), frozenset({1})]
    assert further_cases([false, refused, same], killed) == [false, refused]
    assert further_cases([refused], killed[1:2]) == []
