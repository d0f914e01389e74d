"""Points in time as people write them, as the timestamps that streams hold."""

import re
from datetime import UTC, datetime, timedelta

from remora.errors import UsageError
from remora.trace.stream.line_builder import format_timestamp

_AGO = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def point_in_time(text: str, now: datetime) -> str:
    """`text` (RFC 3339, a date, or how long ago: `90s`, `15m`, `2h`, `3d`, `1w`) as streams
    spell it. Without a zone UTC is meant.

    Raises UsageError for what is no time.
    """
    try:
        if ago := _AGO.fullmatch(text):
            when = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            when = datetime.fromisoformat(text)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return format_timestamp(when)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text!r} is no time",
            hint="write 2026-01-31T09:30:00Z, or 2026-01-31, or how long ago: 90s 15m 2h 3d 1w",
        ) from error
