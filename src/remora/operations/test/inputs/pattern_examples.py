"""Texts that match a regular expression."""

import re
from collections.abc import Iterable
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from remora.operations.test.inputs.named_values import values_by_name

_WORD = "apple"
_CHARACTERS = "a7 -_.,:;/@#x"
_LONG_REPEAT = 4
_DIGITS = "1234567890"
_NUMBERS = {2: "12", 4: "2024"}


def matching_text(pattern: str, flags: int = 0) -> str:
    """Return a text in which the pattern is found, or an empty string.

    Groups whose name is a common parameter name match a sample value of that name.
    """
    try:
        compiled = re.compile(pattern, flags)
        tree = _parser.parse(pattern, flags)
        names = {number: name for name, number in compiled.groupindex.items()}
        for known in (names, {}):
            text = _text(tree, known)
            if compiled.search(text):
                return text
    except (re.error, ValueError, RecursionError, OverflowError):
        pass
    return ""


def _text(parts: Iterable[Any], names: dict[int, str]) -> str:
    return "".join(_part(code, value, names) for code, value in parts)


def _part(code: Any, value: Any, names: dict[int, str]) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, inner = value
        return _repeated(least, most, inner, names)
    if code is codes.SUBPATTERN:
        number, *_, inner = value
        sample = values_by_name(names.get(number, ""))
        return sample[0].strip("'") if sample else _text(inner, names)
    if code is codes.BRANCH:
        return _text(value[1][0], names)
    if code in (codes.IN, codes.ANY, codes.NOT_LITERAL):
        return _character(code, value)
    return ""


def _repeated(least: int, most: int, inner: Any, names: dict[int, str]) -> str:
    once = _text(inner, names)
    if once == "7" and 1 < least <= len(_DIGITS):
        return _NUMBERS.get(least, _DIGITS[:least])
    if len(inner) == 1 and inner[0][0] in (codes.IN, codes.ANY) and most >= _LONG_REPEAT:
        text = {"a": _WORD, "7": "12"}.get(once, once)
        return text if least <= len(text) <= most else once * max(least, 1)
    return once * max(least, 1)


def _character(code: Any, value: Any) -> str:
    """Return a character that a set matches, a letter if possible."""
    if code is codes.ANY:
        return "a"
    if code is codes.NOT_LITERAL:
        return next(one for one in _CHARACTERS if ord(one) != value)
    literals = [chr(item) for kind, item in value if kind is codes.LITERAL]
    literals += [chr(item[0]) for kind, item in value if kind is codes.RANGE]
    return next((one for one in (*_CHARACTERS, *literals) if _is_member(one, value)), "")


def _is_member(text: str, members: Any) -> bool:
    negated: bool = members[0][0] is codes.NEGATE
    found = any(_is_in(text, kind, item) for kind, item in members if kind is not codes.NEGATE)
    return found is not negated


def _is_in(text: str, kind: Any, item: Any) -> bool:
    if kind is codes.LITERAL:
        return bool(ord(text) == item)
    if kind is codes.RANGE:
        return item[0] <= ord(text) <= item[1]  # type: ignore[no-any-return]
    tests = {
        codes.CATEGORY_DIGIT: text.isdigit(),
        codes.CATEGORY_NOT_DIGIT: not text.isdigit(),
        codes.CATEGORY_SPACE: text.isspace(),
        codes.CATEGORY_NOT_SPACE: not text.isspace(),
        codes.CATEGORY_WORD: text.isalnum() or text == "_",
        codes.CATEGORY_NOT_WORD: not (text.isalnum() or text == "_"),
    }
    return tests.get(item, False)
