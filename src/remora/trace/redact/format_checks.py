"""Additional checks of a credential's format, for conditions that a pattern cannot express."""

import re

from remora.trace.redact.rule import Span

_BASE64_AFTER = re.compile(rb"[A-Za-z0-9+/]{0,80}")
_BASE64_BEFORE = re.compile(rb"[A-Za-z0-9+/]{0,80}\Z")


def has_digit(value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value)


def is_not_a_name(value: bytes) -> bool:
    """Return True if the value contains an uppercase letter or a digit after its prefix.

    This distinguishes a credential from a plain name.
    """
    rest = value.lstrip(b"MNOSG.")
    return rest != rest.lower() or has_digit(rest)


def outside_base64(data: bytes, found: Span) -> Span | None:
    """Return `found`, or None if it is a chance match.

    Chance matches occur in long base64 data and in repeated characters.
    """
    before = _BASE64_BEFORE.search(data, max(0, found.start - 80), found.start)
    after = _BASE64_AFTER.match(data, found.end)
    neighbours = sum(run.end() - run.start() for run in (before, after) if run)
    few = len(set(data[found.start + 4 : found.end])) < 6
    return None if neighbours >= 80 or few else found
