"""Parsing of times."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from remora.errors import UsageError
from remora.trace.search.turn_filter import parse_time

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00.000000Z"),
        ("2026-01-31T09:30:00.25+01:00", "2026-01-31T08:30:00.250000Z"),
        ("2026-01-31 09:30", "2026-01-31T09:30:00.000000Z"),
        ("2026-01-31", "2026-01-31T00:00:00.000000Z"),
        ("90s", "2026-03-01T11:58:30.000000Z"),
        ("15m", "2026-03-01T11:45:00.000000Z"),
        ("2h", "2026-03-01T10:00:00.000000Z"),
        ("3d", "2026-02-26T12:00:00.000000Z"),
        ("1w", "2026-02-22T12:00:00.000000Z"),
    ],
)
def test_times(text: str, when: str) -> None:
    assert parse_time(text, NOW) == when
    assert parse_time(text, NOW.astimezone(timezone(timedelta(hours=5)))) == when


@pytest.mark.parametrize("text", ["", " ", "soon", "2026-02-30", "25:00", "3y", "-1h", "999999w"])
def test_what_is_not_a_time(text: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_time(text, NOW)
    assert repr(text) in error.value.message
