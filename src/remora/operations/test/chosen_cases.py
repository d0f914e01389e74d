"""Selection of the calls that become a test."""

import ast
from collections.abc import Sequence

from remora.operations.test.cases.assertions import expected_value, is_rounded, text_lines
from remora.operations.test.cases.case import Case
from remora.operations.test.inputs.call_input import is_call_of
from remora.operations.test.inputs.type_check import contradicts_return
from remora.operations.test.runner.trials import TrialResults
from remora.operations.test.target_function import TargetFunction
from remora.python_text import parse

_MOST_CASES = 8
_MOST_EXAMPLES = 4
"""Number of cases of a test up to which documented examples are added."""
_EMPTY = frozenset({"None", "''", "b''", "[]", "()", "{}", "set()", "object"})
_TRIVIAL = _EMPTY | {"False"}
_LONGEST_TEXT = 70
_MOST_SETUP_LINES = 12
"""What a reader accepts: characters of a text, and lines before the calls."""
NOT_DETECTED = "the calls detect no planted fault"
NOTHING_SHOWN = (
    "the calls that detect faults have trivial results: empty values, False or exceptions"
)


def chosen_cases(
    subject: TargetFunction, found: TrialResults, *, is_first: bool
) -> tuple[list[Case], str]:
    """Return the cases that together detect most mutants, or why there are none.

    Of equal cases, those with results that are not trivial come first, and then the shortest. With `is_first`, the function has no other test, so one result
    must not be trivial, and further documented examples with other results are added.
    """
    problems = [case_problem(subject, case) for case in found.cases]
    tried = zip(found.cases, found.killed, problems, strict=True)
    left = [(case, killed) for case, killed, problem in tried if not problem]
    chosen: list[Case] = []
    known: frozenset[int] = frozenset()
    while len(chosen) < _MOST_CASES:
        useful = [one for one in left if one[1] - known]
        if not useful:
            break
        case, killed = min(
            useful,
            key=lambda tried: (-len(tried[1] - known), _is_trivial(tried[0]), _length(tried[0])),
        )
        chosen.append(case)
        known |= killed
    if not chosen:
        calls = [case.call for case in found.cases]
        reasons = [*found.problems, *zip(calls, problems, strict=True)]
        return [], next((f"{call}: {why}" for call, why in reasons if why), NOT_DETECTED)
    if is_first and all(map(_is_trivial, chosen)):
        return [], NOTHING_SHOWN
    for case, _ in left if is_first else ():
        if len(chosen) < _MOST_EXAMPLES and _is_another_example(case, chosen):
            chosen.append(case)
    return sorted(chosen, key=lambda case: (bool(case.raises), found.cases.index(case))), ""


def case_problem(subject: TargetFunction, case: Case) -> str:
    """Return why the result of a call should not be asserted, or an empty string.

    Long floats in collections are compared exactly, which may fail on another machine. None needs a
    docstring or an annotation that mentions it.
    """
    made = parse(case.call, "eval").body
    is_plain = is_call_of(subject.function.name, made)
    is_whole = is_plain and bool(case.value) and not case.listed
    reasons = {
        "its result has floats that cannot be compared exactly": any(
            map(_has_odd_floats, case.values)
        ),
        "it raises an exception of no specific class": case.raises
        in ("Exception", "BaseException"),
        "it returns nothing": case.value == "None" and not (is_plain and _mentions_none(subject)),
        "its result contradicts the annotation or the name of the function": is_whole
        and contradicts_return(subject, case.value),
        "the attributes of its result say little": _has_vague_attributes(case),
        "its call or result is too long to read": _is_too_long(case),
    }
    return next((why for why, is_true in reasons.items() if is_true), "")


def detected_by(chosen: Sequence[Case], found: TrialResults) -> frozenset[int]:
    """Return the mutants that some of the tried cases detect."""
    pairs = zip(found.cases, found.killed, strict=True)
    return frozenset[int]().union(*(killed for case, killed in pairs if case in chosen))


def _is_another_example(case: Case, chosen: Sequence[Case]) -> bool:
    """Return True for a documented example with another result and no other preparation."""
    return (
        case.source in ("docstring", "documentation")
        and not _is_trivial(case)
        and all(case.values != each.values for each in chosen)
        and any(case.setup == each.setup for each in chosen)
    )


def _is_trivial(case: Case) -> bool:
    return bool(case.raises) or {*case.values} <= _TRIVIAL


def _length(case: Case) -> int:
    return sum(map(len, (*case.setup, case.call, *case.values)))


def _has_odd_floats(text: str) -> bool:
    """Return True for negative zeros, and for long floats within nested collections."""
    parts = [one.value for one in ast.walk(parse(text)) if isinstance(one, ast.Constant)]
    is_approximate = expected_value(text).startswith("pytest.approx")
    return "-0.0" in text or (not is_approximate and any(map(is_rounded, parts)))


def _mentions_none(subject: TargetFunction) -> bool:
    """Return True if the docstring or the return annotation mentions None."""
    returns = subject.function.returns
    says = [ast.get_docstring(subject.function) or "", ast.unparse(returns) if returns else ""]
    return any("None" in text or "Optional" in text for text in says)


def _has_vague_attributes(case: Case) -> bool:
    """Return True for attributes that keep arguments, are empty, or are not found in the call."""
    parts = [one for one in ast.walk(parse(case.call)) if isinstance(one, ast.Call)]
    words = [word for one in parts for word in (*one.args, *(each.value for each in one.keywords))]
    given = {*map(ast.unparse, words), *_TRIVIAL, "True", "0"}
    others = [text for left, text in case.claims if left.startswith("{}.") and text not in given]
    written = " ".join((*case.setup, case.call))
    is_shown = bool(others) and all(text.strip("'") in written for text in others)
    return any(left.startswith("{}.") for left, _ in case.claims) and not is_shown


def _is_too_long(case: Case) -> bool:
    """Return True for a long preparation, and for a text that no formatter splits."""
    texts = [each for each in case.setup if not text_lines(each)]
    lines = sum(len(text_lines(each) or each.splitlines()) for each in case.setup)
    parts = [part for each in (case.call, *texts) for part in ast.walk(parse(each))]
    return lines > _MOST_SETUP_LINES or any(
        len(ast.unparse(one)) > _LONGEST_TEXT for one in parts if isinstance(one, ast.Constant)
    )
