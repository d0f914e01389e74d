from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remora.models.retry import LONGEST_PAUSE_S, RETRIED, pause_s

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_pause_doubles_with_each_attempt() -> None:
    pauses = [pause_s(n, retry_after=None, now=NOW, base_s=0.5) for n in range(4)]
    assert pauses == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        ("3600", LONGEST_PAUSE_S),
        (format_datetime(NOW + timedelta(seconds=9), usegmt=True), 9.0),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0.0),
        ("soon", 0.5),
        ("-3", 0.5),
        ("²", 0.5),
    ],
)
def test_retry_after_is_honoured_up_to_thirty_seconds(header: str, expected: float) -> None:
    assert pause_s(0, retry_after=header, now=NOW, base_s=0.5) == expected


@settings(deadline=None)
@given(st.integers(0, 50), st.none() | st.text(max_size=40))
def test_no_header_makes_a_turn_wait_longer(attempt: int, header: str | None) -> None:
    assert 0 <= pause_s(attempt, retry_after=header, now=NOW, base_s=0.5) <= LONGEST_PAUSE_S


def test_a_refused_key_is_not_worth_another_try() -> None:
    assert {429, 500, 502, 503, 504} == RETRIED
