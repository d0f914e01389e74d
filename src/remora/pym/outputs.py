"""What a script gives back, as it is: what Python has beyond JSON stays, to any depth."""

from collections.abc import Iterable
from typing import Any

import msgspec

from remora.pym.json_values import NotJsonError, SizeBudget, json_size, time_text

_NESTED_SETS = 20  # each is sorted with all that is in it
_NESTED_KEYS = 20
_NUMBER = 5
_Place = tuple[Any, Any, int, int]

_LEFT_OUT = "<deeply nested>"
"""The sandbox hands out this text for all that too many containers are around, keys too."""


class TooDeepMarker(msgspec.Struct, frozen=True):
    """Stands where the sandbox left out what is nested beyond the levels that it hands out."""

    levels: int

    def __repr__(self) -> str:
        return f"<nested beyond {self.levels} levels>"


def to_output(value: Any, *, limit: int, levels: int) -> Any:
    """A copy of `value`, whose JSON would have at most about `limit` bytes.

    Text, bytes, numbers (NaN, infinities, integers of any size), and lists and mappings of them,
    by any such key or tuple of them, are what they were. Tuples become lists, sets sorted lists,
    dates and times ISO text. The sandbox hands out no more than `levels` containers within each
    other: for what is deeper a TooDeep stands, and `[...]` for a container within itself. Raises
    NotPlainError for anything else, TooLargeError as `plain` does.
    """
    budget = SizeBudget(limit)
    top = [value]
    sets: list[list[Any]] = []
    places: list[_Place] = [(top, 0, 0, 0)]
    while places:
        place, key, level, within = places.pop()
        item = place[key]
        if _is_left_out(item, levels - level):
            copy: Any = TooDeepMarker(levels)
        elif isinstance(item, dict):
            copy = _mapping(item, budget)
            places += [(copy, k, level + 1, within) for k in copy]
        elif isinstance(item, list | tuple | set | frozenset):
            budget.spend(2 + len(item))
            copy = list(item)
            if isinstance(item, set | frozenset):
                within = _deeper(within, _NESTED_SETS, "sets")
                sets.append(copy)
            places += [(copy, k, level + 1, within) for k in range(len(copy))]
        else:
            copy = _leaf(item, budget)
        place[key] = copy
    for made in reversed(sets):  # those inside another come before it
        made.sort(key=_order)
    return top[0]


def _is_left_out(item: Any, levels_left: int) -> bool:
    if isinstance(item, dict):
        return levels_left == 1 and item == {_LEFT_OUT: _LEFT_OUT}
    return levels_left == 0 and isinstance(item, str) and item == _LEFT_OUT


def _order(item: Any) -> list[tuple[str, Any]]:
    """What sorts values of any kinds: by kind, then by value, lists by what is in them."""
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


def _check_key(key: Any, budget: SizeBudget, within: int) -> None:
    if isinstance(key, tuple):
        _check_keys(key, budget, _deeper(within, _NESTED_KEYS, "keys"))
    elif isinstance(key, str):
        budget.spend(json_size(key))
    elif not _is_kept(key, budget):
        raise NotJsonError(f"a dict with a key of type {type(key).__name__}")


def _check_keys(keys: Iterable[Any], budget: SizeBudget, within: int) -> None:
    for key in keys:
        _check_key(key, budget, within)


def _deeper(within: int, most: int, what: str) -> int:
    if within == most:
        raise NotJsonError(f"{what} nested deeper than {most} levels")
    return within + 1


def _leaf(value: Any, budget: SizeBudget) -> Any:
    text = value if isinstance(value, str) else time_text(value)
    if text is not None:
        budget.spend(json_size(text))
        return text
    if _is_kept(value, budget):
        return value
    raise NotJsonError(f"a value of type {type(value).__name__}")


def _is_kept(value: object, budget: SizeBudget) -> bool:
    """Whether a value that is no text is kept as it is; what it takes is spent."""
    if isinstance(value, bytes):
        budget.spend(_NUMBER + len(value) * 4 // 3)
    elif isinstance(value, int):
        budget.spend(_NUMBER + value.bit_length() // 4)
    else:
        budget.spend(_NUMBER)
        return value is None or isinstance(value, float)
    return True
