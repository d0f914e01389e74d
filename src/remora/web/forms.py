"""Forms that the page receives: only its own are read."""

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from remora.errors import UsageError
from remora.web.html_responses import error_page
from remora.web.session import Session

_MAX_FORM = 1_000_000
"""Bytes of a form."""
_DIGITS = 9
Form = Mapping[str, Sequence[str]]
"""The values of each field."""


async def read_form(session: Session, request: Request) -> Form | Response:
    """Return a form that this server made, or the refusal of any other form."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_FORM:
            return error_page(413, "The form is too large", "Use `remora review`.")
    form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    if not session.is_own_form(one(form, "token")):
        return error_page(403, "This form is not from this page", "Load the review again.")
    return form


def one(form: Form, name: str) -> str:
    """Return the first value of a field, or an empty string."""
    return next(iter(form.get(name, ())), "")


def number(text: str) -> int:
    """Return the number in a field. Raises UsageError if it has none."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise UsageError(f"{text[:40]!r} is not a number", hint="load the review again")
    return int(text)
