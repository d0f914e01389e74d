"""Whether a value is in a stream what it is here, so that it need not be taken apart first."""

import math
from collections.abc import Sequence
from typing import Any

import msgspec

_DEPTH = 40
_INT_MIN, _INT_MAX = -(2**63), 2**64 - 1


def is_plain(value: Any, depth: int = _DEPTH) -> bool:
    """True only if `storable` would change nothing of `value`, lone surrogates apart.

    False says nothing: what is nested deeply or of a kind that is seldom seen is not looked into.
    """
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        fits: bool = _INT_MIN <= value <= _INT_MAX
        return fits
    if kind is float:
        return math.isfinite(value)
    return depth > 0 and _holds_plain(value, kind, depth - 1)


def _holds_plain(value: Any, kind: type, depth: int) -> bool:
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not is_plain(item, depth):
                return False
        return len(value) != 1 or not next(iter(value)).startswith("$")  # it might be a mark
    if kind is list or kind is tuple:
        return _all_plain(value, depth)
    if isinstance(value, msgspec.Struct):
        return _all_plain([getattr(value, name) for name in value.__struct_fields__], depth)
    return False


def _all_plain(values: Sequence[Any], depth: int) -> bool:
    for value in values:  # noqa: SIM110 - a generator would cost as much as the looking
        if not is_plain(value, depth):
            return False
    return True
