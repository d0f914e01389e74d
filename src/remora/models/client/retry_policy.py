"""Retry policy of the model client.

It selects the failures to retry and the pauses between attempts.
"""

import random
from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime

import httpx2
import msgspec

from remora.models.model_settings import RequestLimits

LONGEST_PAUSE_S = 30.0
RETRIED = frozenset({429, 500, 502, 503, 504})


class Reply(msgspec.Struct, frozen=True):
    """A server's HTTP status, `Retry-After` header and body."""

    status: int
    retry_after: str | None
    body: bytes


Failure = Reply | httpx2.TransportError


def next_pause(
    failure: Failure,
    attempt: int,
    limits: RequestLimits,
    now: datetime,
    *,
    random: Callable[[], float] = random.random,
) -> float | None:
    """Return the seconds to wait after attempt number `attempt` (from 0), or None to give up.

    Only busy servers and broken connections are retried. A refused request or a timed-out answer is
    not retried. The pause uses exponential backoff with equal jitter: half of it is fixed and half
    is random (`random` returns 0 to 1), so that clients do not all retry at the same time.
    `Retry-After` (seconds or an HTTP date) replaces the fixed half. The maximum is 30 s.
    """
    if attempt >= limits.retries or not _is_temporary(failure):
        return None
    half = limits.backoff_s * 2.0**attempt / 2
    requested = _retry_after_s(failure, now)
    fixed = half if requested is None else max(requested, 0.0)
    return min(fixed + half * random(), LONGEST_PAUSE_S)


def _is_temporary(failure: Failure) -> bool:
    if isinstance(failure, Reply):
        return failure.status in RETRIED
    return isinstance(
        failure, httpx2.NetworkError | httpx2.RemoteProtocolError | httpx2.ConnectTimeout
    )


def _retry_after_s(failure: Failure, now: datetime) -> float | None:
    """Return the seconds in the server's `Retry-After`, or None if it is missing or invalid."""
    if not isinstance(failure, Reply) or failure.retry_after is None:
        return None
    text = failure.retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    return (when - now).total_seconds() if when.tzinfo is not None else None
