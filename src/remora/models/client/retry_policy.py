"""Limits of requests, and the retry policy: what is repeated after a failure, and when."""

import random
import re
from collections.abc import Callable
from datetime import datetime
from email.utils import parsedate_to_datetime

import httpx2
import msgspec

from remora.config.schema import ModelConfig

LONGEST_PAUSE_S = 30.0
_RATE_LIMITED = 429
RETRIED = frozenset({_RATE_LIMITED, 500, 502, 503, 504})
_UNPARSED = (b"output that does not match the expected", b"Failed to initialize samplers")
"""Parts of llama.cpp's messages if the parser of a template does not match, or has no grammar."""


class RequestLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the requests to a server."""

    timeout_s: float = 60.0
    """Limit for the first part of an answer. Later parts may each take half of that time.

    An answer that is not streamed comes as one part.
    """
    retries: int = 4
    max_concurrency: int = 2
    backoff_s: float = 0.5


def request_limits(settings: ModelConfig) -> RequestLimits:
    """Return the configured limits. If `exact` is true, only one request at a time is allowed."""
    return RequestLimits(
        timeout_s=settings.timeout_s,
        retries=settings.retries,
        max_concurrency=1 if settings.exact else settings.max_concurrency,
    )


class Reply(msgspec.Struct, frozen=True):
    """The HTTP status, `Retry-After` header, body and `Location` header of a response."""

    status: int
    retry_after: str | None
    body: bytes
    location: str = ""

    @property
    def is_unparsed(self) -> bool:
        """True if the server works, but its parser for the model's template does not."""
        return self.status in (400, 500) and any(mark in self.body for mark in _UNPARSED)


class Silence(httpx2.ReadTimeout):
    """A server that sent nothing of its answer for some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"nothing for {seconds:g} s")
        self.seconds = seconds


_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]*)?")
Failure = Reply | httpx2.TransportError


def next_pause(
    failure: Failure,
    attempt: int,
    limits: RequestLimits,
    now: datetime,
    *,
    random: Callable[[], float] = random.random,
) -> float | None:
    """Return the number of seconds to wait before the next attempt, or None to give up.

    `attempt` is the number of the failed attempt, starting from 0. A request is retried if the
    server was busy or the connection broke. It is not retried if it was refused or timed out, or if
    the answer could not be parsed.

    The pause uses exponential backoff with equal jitter: half of it is fixed and half is random, so
    that clients do not all retry at the same time. `random` returns a number from 0 to 1. A
    `Retry-After` header (in seconds or as an HTTP date) replaces the fixed half. The maximum pause
    is 30 s. A request is given up at once if the server asks for more time than all retries take.
    """
    if attempt >= limits.retries or not _is_temporary(failure):
        return None
    half = limits.backoff_s * 2.0**attempt / 2
    requested = retry_after_s(failure, now)
    if requested is not None and requested > LONGEST_PAUSE_S * limits.retries:
        return None
    fixed = half if requested is None else max(requested, 0.0)
    return min(fixed + half * random(), LONGEST_PAUSE_S)


def _is_temporary(failure: Failure) -> bool:
    if isinstance(failure, Reply):
        return failure.status in RETRIED and not failure.is_unparsed
    return isinstance(
        failure, httpx2.NetworkError | httpx2.RemoteProtocolError | httpx2.ConnectTimeout
    )


def retry_after_s(failure: Failure, now: datetime) -> float | None:
    """Return the `Retry-After` delay in seconds, or None if it is missing or invalid."""
    if not isinstance(failure, Reply) or failure.retry_after is None:
        return None
    text = failure.retry_after.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return (when - now).total_seconds() if when.tzinfo is not None else None
