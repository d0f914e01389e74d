"""Selection of the calls of a model that become a test."""

import ast
from collections.abc import Sequence

from remora.operations.test.cases.case import Case
from remora.operations.test.cases.case_lengths import is_too_long
from remora.operations.test.cases.hollow_cases import EMPTY_VALUES, has_odd_floats
from remora.operations.test.inputs.call_input import is_call_of
from remora.operations.test.inputs.type_check import contradicts_return
from remora.operations.test.runner.trials import TrialResults
from remora.operations.test.target_function import TargetFunction
from remora.python_text import parse

_MOST_CASES = 8
_TRIVIAL = EMPTY_VALUES | {"False"}
NOT_DETECTED = "the calls detect no planted fault that the tests miss"
NOTHING_SHOWN = (
    "the calls that detect faults have trivial results: empty values, False, exceptions or !="
)


def case_problem(subject: TargetFunction, case: Case) -> str:
    """Return why the result of a call should not be asserted, or an empty string.

    Long floats in collections are compared exactly, which may fail on another machine.
    """
    if any(map(has_odd_floats, case.values)):
        return "its result has floats that cannot be compared exactly"
    made = parse(case.call, "eval").body
    if isinstance(made, ast.Compare) and case.value != "True":
        return "it does not hold"
    is_plain = is_call_of(subject.function.name, made)
    if not is_plain and case.value == "None":
        return "it returns nothing"
    if is_plain and case.value and not case.listed and contradicts_return(subject, case.value):
        return "its result contradicts the annotation or the name of the function"
    return "its call or result is too long to read" if is_too_long(case) else ""


def chosen_cases(
    subject: TargetFunction, found: TrialResults, *, is_first: bool
) -> tuple[list[Case], str]:
    """Return the cases that together detect most mutants, at most eight, or why there are none.

    Of equal cases, those with results that are not trivial come first, and then the shortest. With
    `is_first`, the function has no other test, so one result must not be trivial. A comparison that
    holds and detects a mutant is kept as written: its sides are not compared with literals instead.
    """
    problems = [case_problem(subject, case) for case in found.cases]
    tried = zip(found.cases, found.killed, problems, strict=True)
    left = [(case, killed) for case, killed, problem in tried if not problem]
    compared = {side for case, killed in left if killed for side in _sides(case)}
    left = [(case, killed) for case, killed in left if case.call not in compared]
    chosen: list[Case] = []
    known: frozenset[int] = frozenset()
    while len(chosen) < _MOST_CASES and any(killed - known for _, killed in left):
        case, killed = max(
            left, key=lambda one: (len(one[1] - known), not _is_trivial(one[0]), -_length(one[0]))
        )
        chosen.append(case)
        known |= killed
    if not chosen:
        calls = [case.call for case in found.cases]
        reasons = [*found.problems, *zip(calls, problems, strict=True)]
        return [], next((f"{call}: {why}" for call, why in reasons if why), NOT_DETECTED)
    if is_first and all(map(_is_trivial, chosen)):
        return [], NOTHING_SHOWN
    return sorted(chosen, key=lambda case: bool(case.raises)), ""


def detected_by(chosen: Sequence[Case], found: TrialResults) -> frozenset[int]:
    """Return the mutants that some of the tried cases detect."""
    pairs = zip(found.cases, found.killed, strict=True)
    return frozenset[int]().union(*(killed for case, killed in pairs if case in chosen))


def _is_trivial(case: Case) -> bool:
    return bool(case.raises) or {*case.values} <= _TRIVIAL or _says_little(case)


def _says_little(case: Case) -> bool:
    """Return True for a comparison that nearly all values pass, and for `all(...)`."""
    match parse(case.call, "eval").body:
        case ast.Compare(ops=[ast.NotEq() | ast.IsNot() | ast.NotIn()]):
            return True
        case ast.Call(func=ast.Name("all" | "any")):
            return True
    return False


def _sides(case: Case) -> list[str]:
    """Return the expressions that a case compares with each other."""
    made = parse(case.call, "eval").body
    if not isinstance(made, ast.Compare) or _says_little(case):
        return []
    return [ast.unparse(side) for side in (made.left, *made.comparators)]


def _length(case: Case) -> int:
    return sum(map(len, (*case.setup, case.call, *case.values)))
