"""Selection of the most informative calls."""

import ast
from collections.abc import Collection, Sequence

from remora.code.syntax.source import parse_text
from remora.operations.test.cases.case import Case
from remora.operations.test.cases.case_lengths import is_too_long, repeats_variable
from remora.operations.test.cases.hollow_cases import (
    EMPTY_VALUES,
    arguments_of,
    comes_back,
    is_empty_input,
    literal_of,
    repeats_argument,
)
from remora.operations.test.inputs.call_input import WRITTEN
from remora.python_text import parse

MOST_CASES = 4
_MOST_RAISING = 2
_MOST_CONTRASTING = 2
_LONG = 120
_LONG_CALL = 80
"""Lengths of expected values and of calls, in characters, beyond which a test is hard to read."""
_MOST_SETUP = 6
"""Number of statements before several calls that a reader accepts."""


def best_cases(cases: Sequence[Case], killed: Sequence[frozenset[int]]) -> list[Case]:
    """Return cases that together kill the most mutants, then cases that take further branches.

    `killed` contains the mutants that each case kills. Examples from documentation take precedence,
    followed by calls in tests.

    Return an empty list if no mutant is killed, if all results are trivial, or if all cases raise
    exceptions.
    """
    chosen: list[int] = []
    covered: set[int] = set()
    run: set[tuple[int, ...]] = set()
    while len(chosen) < MOST_CASES:
        left = [n for n in range(len(cases)) if n not in chosen and _fits(cases, n, chosen)]
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
        if len(chosen) < MOST_CASES and chosen and _is_example(cases, n, chosen):
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
        _is_written(case)
        and not case.raises
        and case.setup in [one.setup for one in taken]
        and is_new
        and _differs_from_input(case)
        and not is_empty_input(case)
        and _fits(cases, number, chosen)
    )


def _options(case: Case) -> list[ast.keyword]:
    call = parse(case.call, "eval").body
    return call.keywords if isinstance(call, ast.Call) else []


def further_cases(cases: Sequence[Case], killed: Sequence[frozenset[int]]) -> list[Case]:
    """Return cases for a function that has tests, each of which kills mutants that are alive.

    A trivial result counts beside another, because the existing tests do not assert it. Return an
    empty list if all cases raise exceptions.
    """
    chosen: list[int] = []
    covered: set[int] = set()
    while len(chosen) < MOST_CASES:
        raising = sum(bool(cases[n].raises) for n in chosen)
        allowed = chosen and raising < _MOST_RAISING
        left = [n for n in range(len(cases)) if killed[n] - covered]
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
    if len(cases) == 1 and comes_back(cases[0]):
        return False
    shown = [case for case in cases if _is_informative(case)]
    return any(_is_written(case) or _differs_from_input(case) for case in shown) or any(
        _shows_effect(one, other) for one in shown for other in cases
    )


def _shows_effect(one: Case, other: Case) -> bool:
    """Return True if one argument is different, and the result, too."""
    pairs = [*zip(arguments_of(one), arguments_of(other), strict=False)]
    same = sum(left == right for left, right in pairs)
    return (
        one.values != other.values
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
    if too_long:
        return False
    same = [n for n in chosen if _key(cases[n]) == _key(case)]
    raising = sum(bool(cases[n].raises) for n in chosen)
    return not same and not (case.raises and raising >= _MOST_RAISING)


def _key(case: Case) -> tuple[str, tuple[str, ...]]:
    return case.call, case.setup


def _rank(
    case: Case, kills: frozenset[int], run: Collection[tuple[int, ...]] = ()
) -> tuple[bool, bool, bool, bool, float, bool]:
    """Return a sort key: where the case is from, how it reads, and what it shows and detects.

    `run` contains the branches that other cases take.
    """
    hard_to_read = _has_symbol_text(case.call) or sum(map(len, case.values)) > _LONG
    hard_to_read |= len(case.call) > _LONG_CALL
    hard_to_read |= "''" in arguments_of(case)
    lines = sum(len(each.splitlines()) for each in case.setup)
    few_kills = lines / 2 - len(kills)
    is_known = _branches(case).issubset(run)
    return (
        not _is_written(case),
        hard_to_read,
        is_known,
        _is_thin(case),
        few_kills,
        not _differs_from_input(case),
    )


def _is_thin(case: Case) -> bool:
    """Return True if the result is a collection with fewer than two items."""
    parts = [parse(text, "eval").body for text in case.values]
    sizes = [len(one.elts) for one in parts if isinstance(one, ast.List | ast.Tuple | ast.Set)]
    sizes += [len(one.keys) for one in parts if isinstance(one, ast.Dict)]
    return bool(sizes) and max(sizes) < 2


def _is_written(case: Case) -> bool:
    return case.source in WRITTEN


def _contrasting_cases(cases: Sequence[Case], one: int) -> list[int]:
    """Return at most two cases like the chosen one, with other results."""
    first = cases[one]
    fitting = [
        n
        for n, case in enumerate(cases)
        if _is_written(case) == _is_written(first)
        and not case.raises
        and _differs_from_input(case)
        and not _has_symbol_text(case.call)
        and case.setup == first.setup
        and not repeats_argument(case)
    ]
    found: list[int] = []
    for n in fitting:
        if all(cases[n].values != cases[other].values for other in (one, *found)):
            found.append(n)
    few = isinstance(literal_of(first.value), bool | int | float | str)
    return found[: _MOST_CONTRASTING if few else 1]


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


def _is_informative(case: Case) -> bool:
    """Return True if the result is not trivial.

    An empty result for an empty input proves nothing.
    """
    return bool(case.raises) or any(text not in EMPTY_VALUES for text in case.values)
