"""Selection of the most informative calls."""

import ast
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from remora.code.syntax.source import parse_text
from remora.operations.test.cases.case import Case
from remora.operations.test.cases.case_lengths import is_too_long, repeats_variable
from remora.operations.test.cases.hollow_cases import (
    EMPTY_VALUES,
    SHOWN,
    arguments_of,
    comes_back,
    is_empty_input,
    literal_of,
    repeats_argument,
    value_of,
)
from remora.operations.test.inputs.call_input import WRITTEN

MOST_CASES = 4
_MOST_RAISING = 2
_MOST_CONTRASTING = 2
_ORDERED = re.compile(r"OrderedDict\((.*)\)", re.DOTALL)
_WEAK_ANSWERS = frozenset({"False", "0", "0.0", "-1"})
"""Results that invented arguments give where the function refuses or does not find them."""
_GROUPS = {
    "docstring": 0, "documentation": 0, "call": 1, "test": 1, "writer": 1, "sibling": 1,
}  # fmt: skip
_INVENTED = 2
_LONG = 120
_LONG_CALL = 80
"""Lengths of expected values and of calls, in characters, beyond which a test is hard to read."""
_GREETING = "Hello, World"
_VAGUE_TEXTS = (_GREETING, "one two three")
"""Sample texts that read oddly as examples of an invalid value."""
_MOST_SETUP = 6
"""Number of statements before several calls that a reader accepts."""


def best_cases(cases: Sequence[Case], killed: Sequence[frozenset[int]]) -> list[Case]:
    """Return cases that together kill the most mutants, then cases that take further branches.

    `killed` contains the mutants that each case kills. Examples from documentation take precedence,
    followed by calls in the project. Invented values are added only if they show another behavior.

    Return an empty list if no mutant is killed, if all results are trivial, or if all cases raise
    exceptions. In one case with invented values, none of them is empty, and the result is neither
    one of them nor False.
    """
    idle = _without_effect(cases)
    chosen: list[int] = []
    covered: set[int] = set()
    run: set[tuple[int, ...]] = set()
    while len(chosen) < MOST_CASES:
        taken = [cases[n] for n in chosen]
        left = [
            n
            for n in range(len(cases))
            if n not in {*chosen, *idle} and _fits(cases, n, chosen) and _adds(cases[n], taken, run)
        ]
        useful = [n for n in left if killed[n] - covered]
        best = min(useful, key=lambda n: _rank(cases[n], killed[n] - covered, run), default=None)
        if best is None:
            more = [n for n in left if _branches(cases[n]) - run]
            best = max(more, key=lambda n: len(_branches(cases[n]) - run), default=None)
            if best is None or not chosen:
                break
        chosen.append(best)
        covered |= killed[best]
        run |= _branches(cases[best])
    plain = [n for n in chosen if not _options(cases[n])]
    if len(plain) == 1 and len(chosen) < MOST_CASES:
        more = _contrasting_cases(cases, plain[0])
        chosen += [n for n in more if n not in chosen and not _options(cases[n])]
    for n in range(len(cases)):
        if len(chosen) < MOST_CASES and chosen and n not in idle and _is_example(cases, n, chosen):
            chosen.append(n)
    if not _is_worth_asserting([cases[n] for n in chosen if not cases[n].raises]):
        return []
    return [cases[n] for n in sorted(chosen, key=lambda n: (bool(cases[n].raises), n))]


def _is_example(cases: Sequence[Case], number: int, chosen: Sequence[int]) -> bool:
    """Return True for one more documented example with the same preparation as a chosen one.

    Unless it shows an answer of a predicate, its result must be a new one.
    """
    case = cases[number]
    taken = [cases[n] for n in chosen if not cases[n].raises]
    is_new = case.value in ("True", "False") or case.values not in [one.values for one in taken]
    return (
        case.source in WRITTEN
        and not case.raises
        and case.setup in [one.setup for one in taken]
        and is_new
        and _differs_from_input(case)
        and not is_empty_input(case)
        and _fits(cases, number, chosen)
    )


def _adds(case: Case, chosen: Sequence[Case], run: Collection[tuple[int, ...]]) -> bool:
    """Return True for examples, and for invented values that show another behavior.

    These take a further branch, or the result is of another sign, type or answer.
    """
    if _group(case) < _INVENTED or not chosen:
        return True
    text = literal_of(case.value)
    if isinstance(text, str) and text and case.value in arguments_of(case):
        return False
    if not _branches(case).issubset(run):
        return True
    is_answer = {case.value, *(one.value for one in chosen)} == {"True", "False"}
    return is_answer or all(_contrasts(case, one) for one in chosen)


def _without_effect(cases: Sequence[Case]) -> set[int]:
    """Return the cases with an option that does not change the result."""
    outcomes = {(case.call, case.setup): _outcome(case) for case in cases}
    return {
        number
        for number, case in enumerate(cases)
        if case.source not in SHOWN
        and any(outcomes.get((one, case.setup)) == _outcome(case) for one in _fewer_options(case))
    }


def _fewer_options(case: Case) -> list[str]:
    """Return the call without one of its keyword arguments, for each of them."""
    call = ast.parse(case.call, mode="eval").body
    if not isinstance(call, ast.Call):
        return []
    words = call.keywords
    rest = [[one for one in words if one is not word] for word in words]
    return [ast.unparse(ast.Call(call.func, call.args, each)) for each in rest]


def _outcome(case: Case) -> tuple[object, ...]:
    """Return what a test asserts. An ordered dictionary equals a plain one."""
    ordered = _ORDERED.fullmatch(case.value)
    items = value_of(ordered[1]) if ordered else None
    with suppress(TypeError, ValueError):  # the items of another class of that name
        return repr(dict(items)) if items else case.value, case.claims, case.raises
    return case.value, case.claims, case.raises


def _options(case: Case) -> list[ast.keyword]:
    call = ast.parse(case.call, mode="eval").body
    return call.keywords if isinstance(call, ast.Call) else []


def further_cases(cases: Sequence[Case], killed: Sequence[frozenset[int]]) -> list[Case]:
    """Return cases for a function that has tests, each of which kills mutants that are alive.

    Invented arguments are left out. A trivial result counts beside another, because the existing
    tests do not assert it. Return an empty list if all cases raise exceptions.
    """
    chosen: list[int] = []
    covered: set[int] = set()
    fitting = [n for n, case in enumerate(cases) if _group(case) < _INVENTED]
    while len(chosen) < MOST_CASES:
        raising = sum(bool(cases[n].raises) for n in chosen)
        allowed = chosen and raising < _MOST_RAISING
        left = [n for n in fitting if killed[n] - covered]
        left = [n for n in left if not is_too_long(cases[n]) and (allowed or not cases[n].raises)]
        taken = [cases[n] for n in chosen]
        left = [n for n in left if not repeats_variable(cases[n], taken)]
        best = min(left, key=lambda n: _rank(cases[n], killed[n] - covered), default=None)
        if best is None:
            break
        chosen.append(best)
        covered |= killed[best]
    trivial = {*EMPTY_VALUES, "False"}
    if all({*cases[n].values} <= trivial and not cases[n].raises for n in chosen):
        return []
    return [cases[n] for n in sorted(chosen, key=lambda n: (bool(cases[n].raises), n))]


def _branches(case: Case) -> set[tuple[int, ...]]:
    """Return the branches that a case takes, between lines and within them."""
    return {*case.branches, *case.outcomes}


def _is_worth_asserting(cases: Sequence[Case]) -> bool:
    answers = {case.value for case in cases}
    if answers == {"True", "False"}:
        return True
    if _says_little(cases, answers):
        return False
    shown = [case for case in cases if _group(case) < _INVENTED and _is_informative(case)]
    return (
        any(case.source in WRITTEN or _differs_from_input(case) for case in shown)
        or any(_shows_effect(one, other) for one in shown for other in cases)
        or any(_shows_behavior(case) and case.value not in _WEAK_ANSWERS for case in cases)
    )


def _says_little(cases: Sequence[Case], answers: set[str]) -> bool:
    """Return True for results that other code could give as well.

    They are one answer of a predicate, and arguments that come back.
    """
    if answers < {"True", "False"} and not any(case.source in SHOWN for case in cases):
        return True
    return len(cases) == 1 and comes_back(cases[0])


def _shows_effect(one: Case, other: Case) -> bool:
    """Return True if one argument is different, and the result, too."""
    pairs = [*zip(arguments_of(one), arguments_of(other), strict=False)]
    same = sum(left == right for left, right in pairs)
    return (
        _group(other) < _INVENTED
        and one.values != other.values
        and len(arguments_of(one)) == len(arguments_of(other)) == same + 1
        and same > 0
    )


def _fits(cases: Sequence[Case], number: int, chosen: Sequence[int]) -> bool:
    """Return True if the case can be added to the chosen ones."""
    case = cases[number]
    too_long = is_too_long(case)
    if not chosen:
        tells = _is_informative(case) and not is_empty_input(case)
        return tells and not case.raises and not too_long
    setups = {case.setup, *(cases[n].setup for n in chosen)}
    too_long |= sum(map(len, setups)) > _MOST_SETUP
    too_long |= repeats_variable(case, [cases[n] for n in chosen])
    if too_long or (
        _group(case) == _INVENTED and case.setup not in {cases[n].setup for n in chosen}
    ):
        return False
    is_vague = bool(case.raises) and any(text in case.call for text in _VAGUE_TEXTS)
    if _group(case) == _INVENTED and (
        is_vague or _has_symbol_text(case.call) or not all(_is_like(case, cases[n]) for n in chosen)
    ):
        return False
    same = [n for n in chosen if _key(cases[n]) == _key(case)]
    raising = sum(bool(cases[n].raises) for n in chosen)
    if _group(case) == _INVENTED and (case.raises or not _is_informative(case)):
        return not same and raising == 0
    return not same and not (case.raises and raising >= _MOST_RAISING)


def _is_like(case: Case, other: Case) -> bool:
    """Return False if an argument is of another type than in the other case, which is an example."""
    if _group(other) == _INVENTED:
        return True
    pairs = zip(arguments_of(case), arguments_of(other), strict=False)
    return all(_is_same_type(value_of(one), value_of(two)) for one, two in pairs)


def _is_same_type(one: Any, other: Any) -> bool:
    numbers = (bool, int, float)
    both_numbers = isinstance(one, numbers) and isinstance(other, numbers)
    return one is None or other is None or both_numbers or type(one) is type(other)


def _key(case: Case) -> tuple[str, tuple[str, ...]]:
    return case.call, case.setup


def _rank(
    case: Case, kills: frozenset[int], run: Collection[tuple[int, ...]] = ()
) -> tuple[int, bool, bool, bool, float, bool]:
    """Return a sort key: where the case is from, how it reads, and what it shows and detects.

    `run` contains the branches that other cases take.
    """
    hard_to_read = _has_symbol_text(case.call) or sum(map(len, case.values)) > _LONG
    hard_to_read |= len(case.call) > _LONG_CALL
    hard_to_read |= bool(case.raises) and _GREETING in case.call
    hard_to_read |= "''" in arguments_of(case)
    has_option = _group(case) == _INVENTED and bool(_options(case))
    lines = sum(len(each.splitlines()) for each in case.setup)
    few_kills = lines / 2 - len(kills)
    thin = _is_thin(case) or has_option
    is_known = _branches(case).issubset(run)
    return _group(case), hard_to_read, is_known, thin, few_kills, not _differs_from_input(case)


def _is_thin(case: Case) -> bool:
    """Return True if the result is a collection with fewer than two items."""
    parts = [ast.parse(text, mode="eval").body for text in case.values]
    sizes = [len(one.elts) for one in parts if isinstance(one, ast.List | ast.Tuple | ast.Set)]
    sizes += [len(one.keys) for one in parts if isinstance(one, ast.Dict)]
    return bool(sizes) and max(sizes) < 2


def _group(case: Case) -> int:
    return _GROUPS.get(case.source, _INVENTED)


def _contrasting_cases(cases: Sequence[Case], one: int) -> list[int]:
    """Return at most two cases like the chosen one, with results of another sign or type."""
    first = cases[one]
    fitting = [
        n
        for n, case in enumerate(cases)
        if _group(case) == _group(first)
        and not case.raises
        and _differs_from_input(case)
        and not _has_symbol_text(case.call)
        and case.setup == first.setup
        and not repeats_argument(case)
        and (_contrasts(case, first) or case.source in SHOWN)
    ]
    found: list[int] = []
    for n in fitting:
        if all(cases[n].values != cases[other].values for other in (one, *found)):
            found.append(n)
    few = isinstance(literal_of(first.value), bool | int | float | str)
    return found[: _MOST_CONTRASTING if few else 1]


def _contrasts(case: Case, first: Case) -> bool:
    one, other = literal_of(case.value), literal_of(first.value)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return (one > 0) != (other > 0)
    return type(one) is not type(other)


def _has_symbol_text(call: str) -> bool:
    """Return True if a string in the call contains neither letters nor digits."""
    tree = parse_text(call)
    return isinstance(tree, ast.Module) and any(
        isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and part.value != ""
        and not any(map(str.isalnum, part.value))
        for part in ast.walk(tree)
    )


def _differs_from_input(case: Case) -> bool:
    return _is_informative(case) and case.value not in arguments_of(case)


def _shows_behavior(case: Case) -> bool:
    """Return True if no argument is empty and the result is more than one of them, as in `[x]`.

    A result such as `Option(None, None, 1, None)` says that the arguments are no example.
    """
    given = arguments_of(case)
    is_input = case.value.strip("b[](),") in {text.strip("b[](),") for text in given}
    parts = [one.value for one in ast.walk(ast.parse(case.value)) if isinstance(one, ast.Constant)]
    is_hollow = len(parts) > 1 and 2 * sum(part in (None, "") for part in parts) > len(parts)
    usable = not is_hollow and not is_input and not EMPTY_VALUES.intersection(given)
    return usable and _is_informative(case)


def _is_informative(case: Case) -> bool:
    """Return True if the result is not trivial.

    An empty result for an empty input proves nothing.
    """
    return bool(case.raises) or any(text not in EMPTY_VALUES for text in case.values)
