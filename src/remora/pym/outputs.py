"""Conversion of a script's result.

Some values that JSON cannot represent, such as bytes, are kept.
"""

from typing import Any

import msgspec

from remora.pym.json_values import MAX_LEVELS, NotJsonError, SizeBudget, json_size, time_text

_NESTED_SETS = 20  # sorting a set compares everything nested in it
_NESTED_KEYS = 20
_NUMBER = 5
_Place = tuple[Any, Any, int, int]


class TooDeepMarker(msgspec.Struct, frozen=True):
    """Placeholder for a container that is nested too deeply."""

    def __repr__(self) -> str:
        return f"<nested beyond {MAX_LEVELS} levels>"


def to_output(value: Any, *, limit: int) -> Any:
    """Return a copy of `value` in which sets, tuples, dates and times are converted.

    `limit` is the approximate maximum size in bytes as JSON. Strings, bytes, numbers, None, and
    lists and dicts of these are kept. A dict key may be a string, bytes, a number, None, or a tuple
    of these. Tuples become lists, and sets become sorted lists. Dates and times become ISO strings.
    A container that is nested more deeply than MAX_LEVELS becomes a TooDeepMarker, and one inside
    itself `[...]`. Raises NotJsonError for any other value, and TooLargeError if the limit is
    exceeded.
    """
    budget = SizeBudget(limit)
    top = [value]
    sets: list[list[Any]] = []
    places: list[_Place] = [(top, 0, 0, 0)]
    while places:
        place, key, level, depth = places.pop()
        item = place[key]
        if level == MAX_LEVELS and isinstance(item, dict | list | tuple | set | frozenset):
            copy: Any = TooDeepMarker()
        elif isinstance(item, dict):
            copy = _mapping(item, budget)
            places += [(copy, name, level + 1, depth) for name in copy]
        elif isinstance(item, list | tuple | set | frozenset):
            budget.spend(2 + len(item))
            copy = list(item)
            if isinstance(item, set | frozenset):
                depth = _deeper(depth, _NESTED_SETS, "sets")
                sets.append(copy)
            places += [(copy, index, level + 1, depth) for index in range(len(copy))]
        else:
            copy = _leaf(item, budget)
        place[key] = copy
    for items in reversed(sets):  # inner sets before outer ones
        items.sort(key=_order)
    return top[0]


def _order(item: Any) -> list[tuple[str, Any]]:
    """Return a sort key for any value.

    Values are ordered by type, then by value. Lists are ordered by length, then by their items.
    """
    order: list[tuple[str, Any]] = []
    waiting = [item]
    while waiting:
        value = waiting.pop()
        kind = type(value).__name__
        if isinstance(value, list):
            order.append((kind, len(value)))
            waiting += reversed(value)
        else:
            order.append(
                (kind, repr(value) if value is None or isinstance(value, float) else value)
            )
    return order


def _mapping(value: dict[Any, Any], budget: SizeBudget) -> dict[Any, Any]:
    for key in value:
        budget.spend(2)
        _check_key(key, budget, 0)
    return value.copy()


def _check_key(key: Any, budget: SizeBudget, depth: int) -> None:
    if isinstance(key, tuple):
        inner = _deeper(depth, _NESTED_KEYS, "keys")
        for item in key:
            _check_key(item, budget, inner)
    elif isinstance(key, str):
        budget.spend(json_size(key))
    elif not _is_kept_unchanged(key, budget):
        raise NotJsonError(f"a dict with a key of type {type(key).__name__}")


def _deeper(depth: int, limit: int, what: str) -> int:
    if depth == limit:
        raise NotJsonError(f"{what} nested deeper than {limit} levels")
    return depth + 1


def _leaf(value: Any, budget: SizeBudget) -> Any:
    text = value if isinstance(value, str) else time_text(value)
    if text is not None:
        budget.spend(json_size(text))
        return text
    if _is_kept_unchanged(value, budget):
        return value
    raise NotJsonError(f"a value of type {type(value).__name__}")


def _is_kept_unchanged(value: object, budget: SizeBudget) -> bool:
    """Return True if `value`, which is not a string, is kept unchanged.

    The size of the value is charged to `budget`.
    """
    if isinstance(value, bytes):
        budget.spend(_NUMBER + len(value) * 4 // 3)
    elif isinstance(value, int):
        budget.spend(_NUMBER + value.bit_length() // 4)
    else:
        budget.spend(_NUMBER)
        return value is None or isinstance(value, float)
    return True
