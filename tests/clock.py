"""A clock for tests."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def ticking() -> Callable[[], datetime]:
    """A clock that goes on by one second each time it is read."""
    now = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)

    def clock() -> datetime:
        nonlocal now
        now += timedelta(seconds=1)
        return now

    return clock
