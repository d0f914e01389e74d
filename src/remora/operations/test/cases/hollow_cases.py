"""Cases that say nothing to a reader, such as echoes of arguments and sample bytes."""

import ast
import re
from typing import Any

from remora.operations.test.cases.assertions import (
    escapes_of,
    expected_value,
    is_rounded,
    short_float,
)
from remora.operations.test.cases.case import Case
from remora.operations.test.inputs.call_input import WRITTEN, CallInput
from remora.python_text import literal, parse

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


def is_echo(case: Case) -> bool:
    """Return True if the result says only what was passed.

    So do attributes that keep arguments or are empty, or whose values a reader does not find in the
    call.
    """
    if case.claims and all(left.startswith("{}.") for left, _ in case.claims):
        given = {*arguments_of(case), *EMPTY_VALUES, "True", "False", "0"}
        others = [text for _, text in case.claims if text not in given and not text.isidentifier()]
        written = " ".join((*case.setup, case.call))
        return not others or any(text.strip("'") not in written for text in others)
    return _shows_little_change(case)


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
    call = parse(case.call, "eval").body
    given = {ast.unparse(one) for one in call.args} if isinstance(call, ast.Call) else set()
    words = given or {*arguments_of(case)}
    return bool(words) and words <= EMPTY_VALUES


def is_hollow_call(call: CallInput) -> bool:
    """Return True for a call without arguments that only reads a default, such as `get_size()`."""
    if call.fixtures or not ast.unparse(parse(call.call)).rpartition(".")[2].startswith("get_"):
        return False
    return not any(map(_call_arguments, (call.call, *call.setup)))


def is_hollow(case: Case) -> bool:
    """Return True for a case that does not show what the function is for.

    Its call is hollow, or a reader cannot check its result. So does an exception of no specific
    class, a zero for equal arguments, and floats within nested collections, which cannot be
    compared approximately.
    """
    if case.raises:
        return case.raises in ("Exception", "BaseException")
    given = arguments_of(case)
    is_same = len(given) > 1 and len({*given}) == 1
    if (is_same and case.value in ("0", "0.0")) or any(map(has_odd_floats, case.values)):
        return True
    return is_hollow_call(case) or _is_unreadable(case)


def has_odd_floats(text: str) -> bool:
    """Return True for negative zeros, and for long floats within nested collections."""
    if _NEGATIVE_ZERO.search(text):
        return True
    if expected_value(text).startswith("pytest.approx"):
        return False
    parts = [one.value for one in ast.walk(parse(text)) if isinstance(one, ast.Constant)]
    return any(map(is_rounded, parts))


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
    return [one.value for one in ast.walk(parse(source)) if isinstance(one, ast.Constant)]


def repeats_argument(case: Case) -> bool:
    """Return True if a text among the arguments is in a collection that is the result."""
    given = {literal_of(text) for text in arguments_of(case) if isinstance(literal_of(text), str)}
    parts = [
        part.value
        for text in case.values
        if not isinstance(literal_of(text), str)
        for part in ast.walk(parse(text))
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return not given.isdisjoint(parts)


def literal_of(text: str) -> Any:
    """Return the value of a literal that can be a member of a set, or None."""
    try:
        value = literal(text)
        hash(value)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
    return value


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
    parts = [one for one in ast.walk(parse(source)) if isinstance(one, ast.Call)]
    words = [word for one in parts for word in (*one.args, *(each.value for each in one.keywords))]
    return [ast.unparse(word) for word in words]
