"""Selection of the most informative calls."""

import ast
from collections.abc import Sequence
from typing import Any

from remora.code.syntax.source import parse_text
from remora.operations.test.cases.assertions import expected_value
from remora.operations.test.cases.case import Case
from remora.operations.test.inputs.call_input import INVENTED, WRITTEN, CallInput

MOST_CASES = 4
_MOST_RAISING = 2
_MOST_CONTRASTING = 2
_LARGE = 10**12
"""Size of an integer beyond which it says nothing to a reader."""
_ENOUGH = 0.7
"""Share of mutants beyond which no invented values are added to examples."""
_EMPTY_VALUES = frozenset({"None", "''", "b''", "[]", "()", "{}", "set()", "object"})
_WEAK_ANSWERS = frozenset({"False", "0", "0.0", "-1"})
"""Results that invented arguments give where the function refuses or does not find them."""
_GUESSED = frozenset({"sibling", "fixture", "value", "variation"})
_SHOWN = WRITTEN | {"test"}
"""Sources in which a person wrote the call to show or to check something."""
_GROUPS = {"docstring": 0, "documentation": 0, "call": 1, "observed": 1, "test": 1, "sibling": 1}
_INVENTED = 2
_LONG = 120
_LONG_CALL = 80
"""Lengths of expected values and of calls, in characters, beyond which a test is hard to read."""
_GREETING = "Hello, World"
_VAGUE_TEXTS = (_GREETING, "one two  three")
"""Sample texts that read oddly as examples of an invalid value."""
_WORD = 5
"""Length of a text that a function has taken for a collection if it returns its letters."""
_MOST_NONE = 0.4
"""Share of None in the result, where it is among the arguments, beyond which errors explain it."""
_MOST_NUMBERS = 8
"""Number of numbers and truth values in the result of invented arguments that a reader can check."""
_TOO_LONG = 200
"""Length of expected values of invented arguments, beyond which they are not asserted."""
_WIDTH = 80
_MOST_LINES = 6
_MOST_SETUP_LINES = 10
"""Lines of an expected value or a call, and of the statements before it, that a reader accepts."""


def best_cases(cases: Sequence[Case], killed: Sequence[frozenset[int]], faults: int) -> list[Case]:
    """Return cases that together kill the most mutants, then cases that take further branches.

    `killed` contains the mutants that each case kills, of `faults` mutants. Examples from
    documentation take precedence, followed by calls in the project. Invented values are added to
    them only if they leave many mutants alive, or for further branches.

    Return an empty list if no mutant is killed, if all results are trivial, or if all cases raise
    exceptions. In one case with invented values, none of them is empty, and the result is neither
    one of them nor False.
    """
    idle = _without_effect(cases)
    chosen: list[int] = []
    covered: set[int] = set()
    run: set[tuple[int, int]] = set()
    while len(chosen) < MOST_CASES:
        left = [
            n for n in range(len(cases)) if n not in {*chosen, *idle} and _fits(cases, n, chosen)
        ]
        useful = [n for n in left if killed[n] - covered]
        is_shown = any(_group(cases[n]) < _INVENTED for n in chosen)
        if is_shown and len(covered) >= _ENOUGH * faults:
            useful = [
                n for n in useful if _group(cases[n]) < _INVENTED or _branches(cases[n]) - run
            ]
        best = min(useful, key=lambda n: _rank(cases[n], killed[n] - covered), default=None)
        if best is None:
            more = [n for n in left if _branches(cases[n]) - run]
            best = max(more, key=lambda n: len(_branches(cases[n]) - run), default=None)
            if best is None or not chosen:
                break
        chosen.append(best)
        covered |= killed[best]
        run |= _branches(cases[best])
    if not _is_worth_asserting([cases[n] for n in chosen if not cases[n].raises]):
        return []
    if len(chosen) == 1:
        chosen += _contrasting_cases(cases, chosen[0])
    return [cases[n] for n in sorted(chosen, key=lambda n: (bool(cases[n].raises), n))]


def _without_effect(cases: Sequence[Case]) -> set[int]:
    """Return the cases with an option that another case with the same result does not have."""
    results = {(case.call, case.setup): (case.value, case.claims, case.raises) for case in cases}
    found: set[int] = set()
    for number, case in enumerate(cases):
        call = ast.parse(case.call, mode="eval").body
        if not isinstance(call, ast.Call) or case.source in _SHOWN:
            continue
        for word in _options(case):
            fewer = ast.Call(
                call.func, call.args, [one for one in call.keywords if one.arg != word.arg]
            )
            same = results.get((ast.unparse(fewer), case.setup))
            if same == (case.value, case.claims, case.raises):
                found.add(number)
    return found


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
    fitting = [
        n for n, case in enumerate(cases) if _group(case) < _INVENTED or not _arguments(case)
    ]
    while len(chosen) < MOST_CASES:
        raising = sum(bool(cases[n].raises) for n in chosen)
        allowed = chosen and raising < _MOST_RAISING
        left = [n for n in fitting if killed[n] - covered]
        left = [n for n in left if not _is_too_long(cases[n]) and (allowed or not cases[n].raises)]
        best = min(left, key=lambda n: _rank(cases[n], killed[n] - covered), default=None)
        if best is None:
            break
        chosen.append(best)
        covered |= killed[best]
    trivial = {*_EMPTY_VALUES, "False"}
    if all({*cases[n].values} <= trivial and not cases[n].raises for n in chosen):
        return []
    return [cases[n] for n in sorted(chosen, key=lambda n: (bool(cases[n].raises), n))]


def is_echo(case: Case) -> bool:
    """Return True if the result says only what was passed.

    So do attributes that keep arguments or are empty, a None among the items that no example shows,
    and what becomes of several objects without arguments.
    """
    if case.claims and all(left.startswith("{}.") for left, _ in case.claims):
        given = {*_arguments(case), *_EMPTY_VALUES, "True", "False", "0"}
        is_guessed = case.source in _GUESSED
        return is_guessed or all(text in given or text.isidentifier() for _, text in case.claims)
    if any(_is_fingerprint(text, case) for text in case.values):
        return True
    guessed = case.source in _GUESSED and not case.raises
    if case.source not in _SHOWN and not case.raises and _keeps_items(case):
        return True
    if not guessed:
        return False
    shown = (case.call, *case.setup)
    hollow = [text for text in _arguments(case) if text.endswith("()")]
    return (
        len(hollow) > 1
        or _repeats_argument(case, 2)
        or _is_spelled_out(case)
        or _share_of_none(case) > (_MOST_NONE if any("None" in text for text in shown) else 0)
    )


def is_empty_input(case: Case) -> bool:
    """Return True if all arguments are empty. Such a case says something beside others only."""
    words = {*_arguments(case)}
    return bool(words) and words <= _EMPTY_VALUES


def is_hollow_call(call: CallInput) -> bool:
    """Return True for a call that does not show what the function is for.

    Such a call passes sample bytes, or no arguments to a function or to a method of an object that
    was made without arguments. A call that a person wrote as an example or a test is not hollow.
    """
    given = _call_arguments(call.call)
    made_with = [word for line in call.setup for word in _call_arguments(line)]
    if call.source in _SHOWN:
        is_default = ast.unparse(ast.parse(call.call)).rpartition(".")[2].startswith("get_")
        return is_default and not (given or made_with or call.fixtures)
    if call.source in INVENTED and any(isinstance(_literal(text), bytes) for text in given):
        return True
    return not call.fixtures and all(text in _EMPTY_VALUES for text in (*given, *made_with))


def is_hollow(case: Case) -> bool:
    """Return True for a case that does not show what the function is for.

    Its call is hollow, its result contains many numbers or truth values, or the result of a call
    without arguments is a single number or truth value.
    """
    if case.raises:
        return False
    if is_hollow_call(case):
        return True
    if case.source in _SHOWN:
        return False
    values = [_literal(text) for text in case.values]
    if not _arguments(case) and all(isinstance(value, bool | int | float) for value in values):
        return True
    parts = [part for text in case.values for part in ast.walk(ast.parse(text))]
    plain = [p for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, int | float)]
    return len(plain) > _MOST_NUMBERS


def _is_fingerprint(text: str, case: Case) -> bool:
    """Return True for a number such as a hash, which a reader cannot check."""
    value = _literal(text)
    given = {_literal(each) for each in _arguments(case)}
    return isinstance(value, int) and abs(value) >= _LARGE and value not in given


def _share_of_none(case: Case) -> float:
    """Return the share of None among the plain values of a result that is not None itself."""
    texts = [text for text in case.values if text != "None"]
    parts = [part for text in texts for part in ast.walk(ast.parse(text))]
    plain = [part.value for part in parts if isinstance(part, ast.Constant)]
    return plain.count(None) / max(len(plain), 1)


def _keeps_items(case: Case) -> bool:
    """Return True if a collection comes back with the same items, or an argument is there twice."""
    given = [_items(text) for text in _arguments(case)]
    given = [items for items in given if items]
    twice = any(items in given[:number] for number, items in enumerate(given))
    return twice or any(_items(text) in given for text in case.values)


def _items(source: str) -> Any:
    """Return a collection as a list, with lists in place of tuples, or None for other values."""

    def plain(value: Any) -> Any:
        return [*map(plain, value)] if isinstance(value, list | tuple) else value

    value = _value(source)
    return plain(value) if isinstance(value, list | tuple | dict) else None


def _is_spelled_out(case: Case) -> bool:
    """Return True if the items of the result are the letters of a text among the arguments."""
    given = [_literal(text) for text in _arguments(case)]
    texts = [text for text in given if isinstance(text, str) and len(text) >= _WORD]
    parts = [part for text in case.values for part in ast.walk(ast.parse(text))]
    letters = "".join(
        part.value
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    return len(parts) > _WORD and any(text in letters for text in texts)


def _branches(case: Case) -> set[tuple[int, int]]:
    return {*case.branches}


def _is_too_long(case: Case) -> bool:
    longest = max((len(str(_literal(text))) for text in case.values), default=0)
    if _group(case) == _INVENTED and (longest > _WIDTH or sum(map(len, case.values)) > _TOO_LONG):
        return True
    setup = sum(_height(line) for each in case.setup for line in each.splitlines())
    lines = [_height(case.call), *(_height(text, len(case.call)) for text in case.values)]
    return setup > _MOST_SETUP_LINES or max(lines) > _MOST_LINES


def _height(source: str, before: int = 0) -> int:
    """Return the number of lines of an expression whose items a formatter writes line by line.

    `before` is the length of what is on the same line.
    """
    if len(source) + before <= _WIDTH or expected_value(source) != source:
        return 1
    match ast.parse(source).body:
        case [ast.Expr(value=ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts))]:
            items = [ast.unparse(part) for part in parts]
        case [ast.Expr(value=ast.Dict(values=parts))]:
            items = [ast.unparse(part) for part in parts]
        case [ast.Expr(value=ast.Call(args=args, keywords=words))]:
            items = [ast.unparse(part) for part in (*args, *(word.value for word in words))]
        case _:
            return -(-len(source) // _WIDTH)
    return 2 + sum(map(_height, items))


def _is_worth_asserting(cases: Sequence[Case]) -> bool:
    shown = [case for case in cases if _group(case) < _INVENTED and _is_informative(case)]
    if any(case.source in WRITTEN or _differs_from_input(case) for case in shown):
        return True
    return any(_shows_behaviour(case) and case.value not in _WEAK_ANSWERS for case in cases)


def _fits(cases: Sequence[Case], number: int, chosen: Sequence[int]) -> bool:
    """Return True if the case can be added to the chosen ones."""
    case = cases[number]
    too_long = _is_too_long(case)
    if not chosen:
        tells = _is_informative(case) and not is_empty_input(case)
        return tells and not case.raises and not too_long
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
    pairs = zip(_arguments(case), _arguments(other), strict=False)
    return all(_is_same_type(_value(one), _value(two)) for one, two in pairs)


def _is_same_type(one: Any, other: Any) -> bool:
    numbers = (bool, int, float)
    both_numbers = isinstance(one, numbers) and isinstance(other, numbers)
    return one is None or other is None or both_numbers or type(one) is type(other)


def _key(case: Case) -> tuple[str, tuple[str, ...]]:
    return case.call, case.setup


def _rank(case: Case, kills: frozenset[int]) -> tuple[int, bool, bool, float, bool]:
    """Return a sort key: where the case is from, how it reads, and what it detects."""
    hard_to_read = _has_symbol_text(case.call) or sum(map(len, case.values)) > _LONG
    hard_to_read |= len(case.call) > _LONG_CALL
    hard_to_read |= bool(case.raises) and _GREETING in case.call
    hard_to_read |= "''" in _arguments(case)
    has_option = _group(case) == _INVENTED and bool(_options(case))
    lines = sum(len(each.splitlines()) for each in case.setup)
    few_kills = lines / 2 - len(kills)
    thin = _is_thin(case) or has_option
    return _group(case), hard_to_read, thin, few_kills, not _differs_from_input(case)


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
        if (_group(case) == _group(first) or _is_other_answer(case, first))
        and not case.raises
        and _differs_from_input(case)
        and not _has_symbol_text(case.call)
        and case.setup == first.setup
        and not _repeats_argument(case)
        and (_contrasts(case, first) or case.source in _SHOWN)
    ]
    found: list[int] = []
    for n in fitting:
        if all(cases[n].values != cases[other].values for other in (one, *found)):
            found.append(n)
    few = isinstance(_literal(first.value), bool | int | float | str)
    return found[: _MOST_CONTRASTING if few else 1]


def _is_other_answer(case: Case, first: Case) -> bool:
    """Return True for a slightly different call of a predicate, with the other result."""
    return case.source == "variation" and {case.value, first.value} == {"True", "False"}


def _contrasts(case: Case, first: Case) -> bool:
    one, other = _literal(case.value), _literal(first.value)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return (one > 0) != (other > 0)
    return type(one) is not type(other)


def _repeats_argument(case: Case, times: int = 1) -> bool:
    """Return True if a text among the arguments is so often in a collection that is the result."""
    given = {_literal(text) for text in _arguments(case) if isinstance(_literal(text), str)}
    parts = [
        part.value
        for text in case.values
        if not isinstance(_literal(text), str)
        for part in ast.walk(ast.parse(text))
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return any(parts.count(each) >= times for each in given)


def _literal(text: str) -> Any:
    """Return the value of a literal that can be a member of a set, or None."""
    value = _value(text)
    try:
        hash(value)
    except TypeError:
        return None
    return value


def _value(text: str) -> Any:
    """Return the value of a literal, or None."""
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None


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
    return _is_informative(case) and case.value not in _arguments(case)


def _shows_behaviour(case: Case) -> bool:
    """Return True if no argument is empty and the result is more than one of them, as in `[x]`.

    A result such as `Option(None, None, 1, None)` says that the arguments are no example.
    """
    given = _arguments(case)
    is_input = case.value.strip("b[](),") in {text.strip("b[](),") for text in given}
    parts = [one.value for one in ast.walk(ast.parse(case.value)) if isinstance(one, ast.Constant)]
    is_hollow = len(parts) > 1 and 2 * sum(part in (None, "") for part in parts) > len(parts)
    usable = not is_hollow and not is_input and not _EMPTY_VALUES.intersection(given)
    return usable and _is_informative(case)


def _arguments(case: Case) -> list[str]:
    return _call_arguments(case.call)


def _call_arguments(source: str) -> list[str]:
    parts = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Call)]
    words = [word for one in parts for word in (*one.args, *(each.value for each in one.keywords))]
    return [ast.unparse(word) for word in words]


def _is_informative(case: Case) -> bool:
    """Return True if the result is not trivial.

    An empty result for an empty input proves nothing.
    """
    return bool(case.raises) or any(text not in _EMPTY_VALUES for text in case.values)
