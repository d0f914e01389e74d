"""Which failures of a server are worth another try, and how long to wait before it."""

from datetime import datetime
from email.utils import parsedate_to_datetime

import httpx2
import msgspec

LONGEST_PAUSE_S = 30.0
RETRIED = frozenset({429, 500, 502, 503, 504})


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How patient a client is. `timeout_s` is for one attempt, from sending to the last byte."""

    timeout_s: float = 60.0
    retries: int = 4
    max_concurrency: int = 2
    backoff_s: float = 0.5


class Reply(msgspec.Struct, frozen=True):
    """What a server answered: HTTP status, its `Retry-After`, the body."""

    status: int
    retry_after: str | None
    body: bytes


Failure = Reply | httpx2.TransportError


def next_pause(failure: Failure, attempt: int, limits: Limits, now: datetime) -> float | None:
    """Seconds to wait after failed attempt number `attempt` (from 0); null: give up.

    Busy servers and broken connections are tried again; a refusal is not, and neither is a
    server that took all its time. `Retry-After` (seconds or an HTTP date) wins over the
    exponential backoff; neither may hold a turn longer than 30 s.
    """
    if attempt >= limits.retries or not _may_pass(failure):
        return None
    asked = None
    if isinstance(failure, Reply) and failure.retry_after is not None:
        asked = _asked_s(failure.retry_after, now)
    if asked is None:
        asked = limits.backoff_s * 2**attempt
    return min(max(asked, 0.0), LONGEST_PAUSE_S)


def _may_pass(failure: Failure) -> bool:
    if isinstance(failure, Reply):
        return failure.status in RETRIED
    return isinstance(
        failure, httpx2.NetworkError | httpx2.RemoteProtocolError | httpx2.ConnectTimeout
    )


def _asked_s(retry_after: str, now: datetime) -> float | None:
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    return (when - now).total_seconds() if when.tzinfo is not None else None
