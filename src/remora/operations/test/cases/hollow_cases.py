"""Cases that say nothing to a reader, such as echoes of arguments and sample bytes."""

import ast
import builtins
import re
from typing import Any

from remora.operations.test.cases.assertions import (
    escapes_of,
    expected_value,
    is_rounded,
    short_float,
)
from remora.operations.test.cases.case import Case
from remora.operations.test.inputs.call_input import INVENTED, WRITTEN, CallInput, bound_names

_LARGE = 10**8
"""Size of an integer beyond which it says nothing to a reader, unless it is round."""
_OPAQUE_TEXT = re.compile(r"(?=[A-Za-z+]*\d)(?=[\d+]*[A-Za-z])[A-Za-z0-9+]{16,}")
"""A token of letters and digits, such as a hash or a key."""
_NEGATIVE_ZERO = re.compile(r"-0\.0\b")
_MOST_ESCAPES = 6
"""Number of bytes without a letter that a reader can check."""
_LONG_HASH = 32
"""Number of such bytes that a documented hash may have."""
EMPTY_VALUES = frozenset({"None", "''", "b''", "[]", "()", "{}", "set()", "object"})
_BUILT_IN = frozenset(dir(builtins))
_GUESSED = frozenset({"sibling", "value"})
SHOWN = WRITTEN | {"test", "writer"}
"""Sources in which a person or a model wrote the call to show or to check something."""
_WORD = 5
"""Length of a text that a function has taken for a collection if it returns its letters."""
_MOST_NONE = 0.4
"""Share of None in the result, where it is among the arguments, beyond which errors explain it."""
_MOST_NUMBERS = 8
"""Number of numbers and truth values in the result of invented arguments that a reader can check."""


def is_echo(case: Case) -> bool:
    """Return True if the result says only what was passed.

    So do attributes that keep arguments or are empty, or whose values a reader does not find in the
    call, a None among the items that no example shows, and what becomes of several objects without
    arguments.
    """
    if case.claims and all(left.startswith("{}.") for left, _ in case.claims):
        given = {*arguments_of(case), *EMPTY_VALUES, "True", "False", "0"}
        is_guessed = case.source in _GUESSED
        others = [text for _, text in case.claims if text not in given and not text.isidentifier()]
        written = " ".join((*case.setup, case.call))
        return is_guessed or not others or any(text.strip("'") not in written for text in others)
    if _shows_little_change(case):
        return True
    if case.source not in SHOWN and not case.raises and _is_of_nothing(case):
        return True
    guessed = case.source in _GUESSED and not case.raises
    if case.source not in SHOWN and not case.raises and _keeps_items(case):
        return True
    if not guessed:
        return False
    shown = (case.call, *case.setup)
    given = {*arguments_of(case), *EMPTY_VALUES}
    keeps = bool(case.claims) and all(text in given for _, text in case.claims)
    hollow = [text for text in arguments_of(case) if text.endswith("()")]
    return (
        len(hollow) > 1
        or keeps
        or repeats_argument(case, 2)
        or _is_spelled_out(case)
        or _gives_back(case)
        or _is_stem(case)
        or any(text.startswith(("'<", '"<')) for left, text in case.claims if left != "{}")
        or _share_of_none(case) > (_MOST_NONE if any("None" in text for text in shown) else 0)
    )


def _shows_little_change(case: Case) -> bool:
    """Return True if only a length is asserted, or a flag that calls without arguments set."""
    flags = all(text in ("True", "False", "None") for _, text in case.claims)
    given = [word for code in (case.call, *case.setup) for word in _call_arguments(code)]
    return bool(case.claims) and (
        all(left.startswith("len(") for left, _ in case.claims) or (flags and not given)
    )


def is_empty_input(case: Case) -> bool:
    """Return True if all arguments are empty. Such a case says something beside others only.

    Options that are passed by name count if there are no other arguments.
    """
    call = ast.parse(case.call, mode="eval").body
    given = {ast.unparse(one) for one in call.args} if isinstance(call, ast.Call) else set()
    words = given or {*arguments_of(case)}
    return bool(words) and words <= EMPTY_VALUES


def is_hollow_call(call: CallInput) -> bool:
    """Return True for a call that does not show what the function is for.

    Such a call passes sample bytes, or no arguments to a function or to a method of an object that
    was made without arguments or with flags only. A call that a person wrote as an example or a
    test is not hollow.
    """
    given = _call_arguments(call.call)
    known = [
        name for line in call.setup for one in ast.parse(line).body for name in bound_names(one)
    ]
    constants = {one for one in given if one.isidentifier() and one not in (*known, *_BUILT_IN)}
    if call.source in ("call", "sibling") and constants and not call.fixtures:
        return True  # a reader does not see what the constant contains
    made_with = [word for line in call.setup for word in _call_arguments(line)]
    if call.source in SHOWN:
        is_default = ast.unparse(ast.parse(call.call)).rpartition(".")[2].startswith("get_")
        return is_default and not (given or made_with or call.fixtures)
    if call.source in INVENTED and any(isinstance(literal_of(text), bytes) for text in given):
        return True
    is_default = all(text in (*EMPTY_VALUES, "True", "False") for text in made_with)
    return not call.fixtures and is_default and all(text in EMPTY_VALUES for text in given)


def is_hollow(case: Case) -> bool:
    """Return True for a case that does not show what the function is for.

    Its call is hollow, its result contains many numbers or truth values, or the result of a call
    without arguments is a single number or truth value. So does an exception of no specific class,
    a zero for equal arguments, and floats within nested collections, which cannot be compared
    approximately.
    """
    if case.raises:
        return case.raises in ("Exception", "BaseException")
    given = arguments_of(case)
    is_same = len(given) > 1 and len({*given}) == 1
    if (is_same and case.value in ("0", "0.0")) or any(map(has_odd_floats, case.values)):
        return True
    if is_hollow_call(case) or _is_unreadable(case):
        return True
    if case.source in SHOWN:
        return False
    values = [literal_of(text) for text in case.values]
    if not arguments_of(case) and all(isinstance(value, bool | int | float) for value in values):
        return True
    parts = [part for text in case.values for part in ast.walk(ast.parse(text))]
    plain = [p for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, int | float)]
    return len(plain) > _MOST_NUMBERS


def has_odd_floats(text: str) -> bool:
    """Return True for negative zeros, and for long floats within nested collections."""
    if _NEGATIVE_ZERO.search(text):
        return True
    if expected_value(text).startswith("pytest.approx"):
        return False
    parts = [one.value for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Constant)]
    return any(map(is_rounded, parts))


def _is_of_nothing(case: Case) -> bool:
    """Return True if all values are flags or empty, or a call without arguments gives only marks."""
    parts = [part for text in case.values for part in ast.walk(ast.parse(text))]
    plain = [part.value for part in parts if isinstance(part, ast.Constant)]
    if case.claims:
        return all(value is True or not value for value in plain)
    text = value_of(case.value)
    is_mark = isinstance(text, str) and not any(map(str.isalnum, text))
    return is_mark and not _call_arguments(case.call)


def _is_unreadable(case: Case) -> bool:
    """Return True for hashes, keys, numbers with many digits, and several zeros or empty texts.

    Of what the author shows in documentation, only long bytes count, and values of an object that
    is not filled yet.
    """
    shown = [part for text in case.values for part in _constants(text)]
    if any(isinstance(part, bytes) and escapes_of(part) > _LONG_HASH for part in shown):
        return True
    if case.source in WRITTEN:
        return _is_unfilled(shown)
    given = [part for text in (*case.setup, case.call) for part in _constants(text)]
    return (
        _is_unfilled(shown)
        or any(_is_opaque(part) for part in shown if part not in given)
        or any(isinstance(part, str) and _OPAQUE_TEXT.search(part) for part in given)
    )


def _is_unfilled(values: list[object]) -> bool:
    return len(values) > 1 and not any(each or isinstance(each, bool | None) for each in values)


def _is_opaque(value: object) -> bool:
    if isinstance(value, int):
        return abs(value) >= _LARGE and value % 1000 != 0
    if isinstance(value, bytes):
        return escapes_of(value) > _MOST_ESCAPES
    if isinstance(value, str):
        return _OPAQUE_TEXT.search(value) is not None
    return is_rounded(value) and is_rounded(short_float(value))


def _constants(source: str) -> list[object]:
    return [one.value for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Constant)]


def _share_of_none(case: Case) -> float:
    """Return the share of None among the plain values of a result that is not None itself."""
    texts = [text for text in case.values if text != "None"]
    parts = [part for text in texts for part in ast.walk(ast.parse(text))]
    plain = [part.value for part in parts if isinstance(part, ast.Constant)]
    return plain.count(None) / max(len(plain), 1)


def _keeps_items(case: Case) -> bool:
    """Return True if a collection comes back with the same items, or an argument is there twice."""
    given = [_items(text) for text in arguments_of(case)]
    given = [items for items in given if items]
    twice = any(items in given[:number] for number, items in enumerate(given))
    return twice or any(_items(text) in given for text in case.values)


def _gives_back(case: Case) -> bool:
    """Return True if an object gives back the items that it was made with, perhaps each once."""
    made = [_items(text) for line in case.setup for text in _call_arguments(line)]
    once = [[one for n, one in enumerate(each) if one not in each[:n]] for each in made if each]
    return any(_items(text) in (*made, *once) for text in case.values if _items(text))


def _is_stem(case: Case) -> bool:
    """Return True if the result is the start of a word, which only someone who knows it can check."""
    given = [literal_of(text) for text in arguments_of(case)]
    words = [one for one in given if isinstance(one, str) and one.isalpha()]
    value = literal_of(case.value)
    has_length = any(isinstance(one, int) and not isinstance(one, bool) for one in given)
    if not isinstance(value, str) or has_length:
        return False
    return any(0 < len(value) < len(word) and word.startswith(value) for word in words)


def _items(source: str) -> Any:
    """Return a collection as a list, with lists in place of tuples, or None for other values."""

    def plain(value: Any) -> Any:
        return [*map(plain, value)] if isinstance(value, list | tuple) else value

    value = value_of(source)
    return plain(value) if isinstance(value, list | tuple | dict) else None


def _is_spelled_out(case: Case) -> bool:
    """Return True if the result has the letters of a text as items, or joins items to a text."""
    given = [literal_of(text) for text in arguments_of(case)]
    texts = [text for text in given if isinstance(text, str) and len(text) >= _WORD]
    parts = [part for text in case.values for part in ast.walk(ast.parse(text))]
    joined = ["".join(one) for one in map(value_of, arguments_of(case)) if _is_texts(one)]
    letters = "".join(
        part.value
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    if letters and letters in joined:
        return True
    return len(parts) > _WORD and any(text in letters for text in texts)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def repeats_argument(case: Case, times: int = 1) -> bool:
    """Return True if a text among the arguments is so often in a collection that is the result."""
    given = {literal_of(text) for text in arguments_of(case) if isinstance(literal_of(text), str)}
    parts = [
        part.value
        for text in case.values
        if not isinstance(literal_of(text), str)
        for part in ast.walk(ast.parse(text))
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return any(parts.count(each) >= times for each in given)


def literal_of(text: str) -> Any:
    """Return the value of a literal that can be a member of a set, or None."""
    value = value_of(text)
    try:
        hash(value)
    except TypeError:
        return None
    return value


def value_of(text: str) -> Any:
    """Return the value of a literal, or None."""
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None


def comes_back(case: Case) -> bool:
    """Return True if the result is an argument, all arguments, or what the object was made with.

    The result may be asserted beside its class.
    """
    claims = {left: text for left, text in case.claims if not left.startswith("isinstance(")}
    value = claims["{}"] if [*claims] == ["{}"] else case.value
    given = arguments_of(case)
    made_with = [word for line in case.setup for word in _call_arguments(line)]
    together = [f"({', '.join(given)})"] if len(given) > 1 else []
    return value in (*given, *made_with, *together)


def arguments_of(case: Case) -> list[str]:
    return _call_arguments(case.call)


def _call_arguments(source: str) -> list[str]:
    parts = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Call)]
    words = [word for one in parts for word in (*one.args, *(each.value for each in one.keywords))]
    return [ast.unparse(word) for word in words]
