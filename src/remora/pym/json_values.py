"""What goes into the sandbox and through its calls of the host, as JSON has it."""

import math
from datetime import date, time, timedelta
from typing import Any

import msgspec

_DEPTH = 200
_INT_LIMIT = 2**63  # what every JSON reader and writer here takes as a number


class NotJsonError(Exception):
    """A value that JSON can't hold; the message says what it is."""


class TooLargeError(Exception):
    """A value whose JSON is longer than the limit."""


class SizeBudget:
    """How many characters may still come."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.left = limit

    def spend(self, count: int) -> None:
        """Raises TooLargeError where it is not enough."""
        self.left -= count
        if self.left < 0:
            raise TooLargeError(f"larger than {self.limit} bytes")


def to_json_value(value: Any, *, limit: int) -> Any:
    r"""`value` as JSON values of at most about `limit` bytes.

    Tuples become lists, sets sorted lists, dates and times ISO text, numbers that JSON lacks
    their `repr`, lone surrogates, which the sandbox does not take, `\udXXX`. Anything else raises
    NotPlainError. Sharing is undone, and it is counted: a value built to explode (lists that hold
    one list many times) raises TooLargeError.
    """
    return _plain(value, SizeBudget(limit), 0)


def charge(value: Any, budget: SizeBudget) -> None:
    """Count what `to_json_value` gave against a budget. Raises TooLargeError."""
    _plain(value, budget, 0)


def _plain(value: Any, budget: SizeBudget, depth: int) -> Any:
    if depth > _DEPTH:
        raise NotJsonError(f"nested deeper than {_DEPTH} levels")
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


def escape_surrogates(text: str) -> str:
    """`text` with each lone surrogate spelled out, as a file's name that is not UTF-8 has them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def json_size(text: str) -> int:
    """Bytes of `text` as JSON, escapes left out."""
    return 2 + (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))


def _mapping(value: dict[Any, Any], budget: SizeBudget, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, item in value.items():
        name = escape_surrogates(key) if isinstance(key, str) else _key(key)
        budget.spend(json_size(name) + 2)
        made[name] = _plain(item, budget, depth + 1)
    return made


def _key(key: object) -> str:
    if key is None or isinstance(key, bool | int | float):
        return msgspec.json.encode(_scalar(key)).decode().strip('"')
    raise NotJsonError(f"a dict with a key of type {type(key).__name__}, which JSON lacks")


def _sequence(value: Any, budget: SizeBudget, depth: int) -> list[Any]:
    budget.spend(2 + len(value))
    made = [_plain(item, budget, depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        made.sort(key=msgspec.json.encode)
    return made


def _scalar(value: object) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_INT_LIMIT <= value < _INT_LIMIT else _digits(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    text = time_text(value)
    if text is None:
        raise NotJsonError(f"a value of type {type(value).__name__}, which JSON lacks")
    return text


def time_text(value: object) -> str | None:
    """A date or a time as ISO has it, a span as Python spells it; None for any other value."""
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta) else None


def _digits(value: int) -> str:
    try:
        return repr(value)
    except ValueError:  # Python refuses to write thousands of digits
        return hex(value)
