"""Numbers in addresses and headers, where a browser may send any text."""

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request

_DIGITS = 9
"""Digits of the largest number. Python refuses to read numbers of thousands of digits."""


class _ShortNumber(IntegerConvertor):
    """A number in a path. A path with a longer one does not exist."""

    regex = f"[0-9]{{1,{_DIGITS}}}"


register_url_convertor("number", _ShortNumber())


def number_in(text: str | None) -> int | None:
    """Return the number that a text is, or None if it is none, or a long one."""
    return int(text) if text and len(text) <= _DIGITS and text.isdecimal() else None


def query_number(request: Request, name: str) -> int | None:
    """Return a number of the query, or None if it is missing or not a short number."""
    return number_in(request.query_params.get(name))
