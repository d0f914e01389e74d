"""Parsing of times given by users: RFC 3339, dates and ages."""

import re
from datetime import UTC, datetime, timedelta

from remora.errors import UsageError
from remora.trace.stream.line_builder import format_timestamp

_AGO = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_time(text: str, now: datetime) -> str:
    """Return a time (RFC 3339, date, age `90s` to `1w`) in UTC as stored. Raises UsageError."""
    try:
        if ago := _AGO.fullmatch(text):
            when = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            when = datetime.fromisoformat(text)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return format_timestamp(when)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is not a time",
            hint="use 2026-01-31T09:30:00Z, 2026-01-31, or an age such as 90s 15m 2h 3d 1w",
        ) from error
