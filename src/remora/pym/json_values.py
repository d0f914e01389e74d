"""Conversion of inputs, host calls and their results to JSON values."""

import math
from datetime import date, time, timedelta
from typing import Any

import msgspec

from remora.text import escape_surrogates

MAX_LEVELS = 50
"""Containers in each other that are kept (decision: fewer than the 64 of a stream's line)."""
_INT_LIMIT = 2**63  # all JSON readers and writers used here accept numbers below this


class NotJsonError(Exception):
    """Raised for a value that JSON cannot represent. The message describes the value."""


class TooLargeError(Exception):
    """Raised for a value that exceeds the size limit when encoded as JSON."""


class SizeBudget:
    """Number of bytes that are still available for a value's JSON."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit

    def spend(self, count: int) -> None:
        """Subtract `count` bytes. Raises TooLargeError if the budget falls below zero."""
        self.left -= count
        if self.left < 0:
            raise TooLargeError(f"larger than {self.limit} bytes")


def to_json_value(value: Any, *, limit: int) -> Any:
    r"""Convert `value` to JSON values.

    `limit` is the approximate maximum size in bytes. Tuples become lists, and sets become sorted
    lists. Dates and times become ISO strings. Numbers that JSON cannot represent become their
    `repr`, or hexadecimal if Python refuses that, and lone surrogates become `\udXXX`. An object
    that occurs several times is counted each time. Raises NotJsonError for any other value and for
    keys that become equal, such as 1 and "1", and TooLargeError if the limit is exceeded.
    """
    return _to_json(value, SizeBudget(limit), 0)


def charge(value: Any, budget: SizeBudget) -> None:
    """Subtract the JSON size of a `to_json_value` result from `budget`.

    Raises TooLargeError if the budget falls below zero.
    """
    _to_json(value, budget, 0)


def _to_json(value: Any, budget: SizeBudget, depth: int) -> Any:
    if depth > MAX_LEVELS:
        raise NotJsonError(f"nested deeper than {MAX_LEVELS} levels")
    if isinstance(value, str):
        text = escape_surrogates(value)
        budget.spend(json_size(text))
        return text
    if isinstance(value, dict):
        return _mapping(value, budget, depth)
    if isinstance(value, list | tuple | set | frozenset):
        return _sequence(value, budget, depth)
    found = _scalar(value)
    budget.spend(json_size(found) if isinstance(found, str) else 5)
    return found


def json_size(text: str) -> int:
    """Return the size in bytes of `text` as a JSON string, not counting escapes."""
    return 2 + (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))


def _mapping(value: dict[Any, Any], budget: SizeBudget, depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in value.items():
        name = escape_surrogates(key) if isinstance(key, str) else _key(key)
        if name in result:
            raise NotJsonError(f"a dict with two keys that are {name!r} in JSON")
        budget.spend(json_size(name) + 2)
        result[name] = _to_json(item, budget, depth + 1)
    return result


def _key(key: object) -> str:
    if key is None or isinstance(key, bool | int | float):
        return msgspec.json.encode(_scalar(key)).decode().strip('"')
    raise NotJsonError(f"a dict with a key of type {type(key).__name__}, which JSON lacks")


def _sequence(value: Any, budget: SizeBudget, depth: int) -> list[Any]:
    budget.spend(2 + len(value))
    items = [_to_json(item, budget, depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        items.sort(key=msgspec.json.encode)
    return items


def _scalar(value: object) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_INT_LIMIT <= value < _INT_LIMIT else _digits(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if (text := time_text(value)) is None:
        raise NotJsonError(f"a value of type {type(value).__name__}, which JSON lacks")
    return text


def time_text(value: object) -> str | None:
    """Format a date or time as an ISO string, or a timedelta with `str`.

    Returns None for other values.
    """
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta) else None


def _digits(value: int) -> str:
    try:
        return repr(value)
    except ValueError:  # Python refuses to format thousands of digits
        return hex(value)
