from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remora.models.client.retry_policy import (
    LONGEST_PAUSE_S,
    Failure,
    Reply,
    RequestLimits,
    is_failure,
    next_pause,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = RequestLimits(retries=4, backoff_s=0.5)


def busy(retry_after: str | None = None, status: int = 503) -> Reply:
    return Reply(status, retry_after, b"")


def pause_of(failure: Failure, attempt: int, jitter: float) -> float | None:
    return next_pause(failure, attempt, LIMITS, NOW, random=lambda: jitter)


def test_the_pause_doubles_with_each_attempt_until_they_are_spent() -> None:
    assert [pause_of(busy(), n, 1.0) for n in range(6)] == [0.5, 1.0, 2.0, 4.0, None, None]


def test_half_of_the_pause_is_random() -> None:
    assert [pause_of(busy(), 1, jitter) for jitter in (0.0, 0.5, 1.0)] == [0.5, 0.75, 1.0]


def test_an_answer_that_the_server_cannot_parse_is_not_its_failure() -> None:
    body = b'{"error":{"message":"... output that does not match the expected peg-gemma4 format"}}'
    unparsed = Reply(500, None, body)
    assert unparsed.is_unparsed
    assert pause_of(unparsed, 0, 1.0) is None
    assert not is_failure(unparsed)
    assert is_failure(Reply(500, None, b"{}"))


def test_two_clients_do_not_retry_in_step() -> None:
    assert next_pause(busy(), 0, LIMITS, NOW) != next_pause(busy(), 0, LIMITS, NOW)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("3600", LONGEST_PAUSE_S),
        (format_datetime(NOW + timedelta(seconds=9), usegmt=True), 9.0),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0.0),
        ("soon", 0.25),
        ("-3", 0.25),
        ("²", 0.25),
    ],
)
def test_retry_after_is_a_lower_bound_up_to_thirty_seconds(header: str, expected: float) -> None:
    assert pause_of(busy(header), 0, 0.0) == expected
    assert pause_of(busy(header), 0, 1.0) == min(expected + 0.25, LONGEST_PAUSE_S)


@given(st.integers(0, 50), st.none() | st.text(max_size=40), st.floats(0, 1))
def test_no_header_makes_a_turn_wait_longer(
    attempt: int, header: str | None, jitter: float
) -> None:
    limits = RequestLimits(retries=100)
    pause = next_pause(busy(header), attempt, limits, NOW, random=lambda: jitter)
    assert pause is not None
    assert 0 <= pause <= LONGEST_PAUSE_S


@pytest.mark.parametrize(
    ("failure", "again"),
    [
        *((busy(status=status), True) for status in (429, 500, 502, 503, 504)),
        *((busy(status=status), False) for status in (301, 400, 401, 403, 404, 422, 501)),
        (httpx2.ConnectError("refused"), True),
        (httpx2.ReadError("reset"), True),
        (httpx2.RemoteProtocolError("closed"), True),
        (httpx2.ConnectTimeout("no answer"), True),
        (httpx2.ReadTimeout("slow"), False),
        (httpx2.UnsupportedProtocol("gopher"), False),
    ],
)
def test_only_what_may_pass_is_tried_again(failure: Failure, again: bool) -> None:
    assert (next_pause(failure, 0, LIMITS, NOW) is not None) is again
