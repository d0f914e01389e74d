"""Which failures of a server are worth another try, and how long to wait before it."""

from datetime import datetime
from email.utils import parsedate_to_datetime

RETRIED = frozenset({429, 500, 502, 503, 504})
LONGEST_PAUSE_S = 30.0


def pause_s(attempt: int, *, retry_after: str | None, now: datetime, base_s: float) -> float:
    """Seconds to wait after failed attempt number `attempt` (from 0).

    `Retry-After` (seconds or an HTTP date) wins over the exponential backoff; neither may
    hold a turn longer than 30 s.
    """
    asked = None if retry_after is None else _asked_s(retry_after, now)
    if asked is None:
        asked = base_s * 2**attempt
    return min(max(asked, 0.0), LONGEST_PAUSE_S)


def _asked_s(retry_after: str, now: datetime) -> float | None:
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        return None
    return (when - now).total_seconds()
