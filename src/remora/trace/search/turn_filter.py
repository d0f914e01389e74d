"""Conditions on streams and turns."""

import re
from datetime import UTC, datetime, timedelta

import msgspec

from remora.errors import UsageError
from remora.trace.read.reader import StreamInfo
from remora.trace.search.turn_rows import TurnMatch
from remora.trace.stream.line_builder import format_timestamp


class StreamQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on streams and turns. A condition of None matches everything.

    `run`, `operation`, `status`, `outcome`, `tool` and `decided_by` must match exactly. `node` is a
    name or a glob, either `path:qualname` or only a qualname. `since` and `until` are RFC 3339
    times, dates, or ages such as `90s`, `15m`, `2h`, `3d` or `1w`.
    """

    run: str | None = None
    node: str | None = None
    operation: str | None = None
    status: str | None = None
    outcome: str | None = None
    tool: str | None = None
    decided_by: str | None = None
    since: str | None = None
    until: str | None = None

    def of_turns(self) -> bool:
        """Return True if the query has conditions on turns."""
        asked = (self.outcome, self.tool, self.decided_by, self.since, self.until)
        return any(value is not None for value in asked)


class StreamMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A matching stream and its matching turns. `turns` is empty if the query has no conditions on
    turns.
    """

    stream: StreamInfo
    turns: tuple[TurnMatch, ...] = ()


class TurnFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on turns. Times have the format used in streams."""

    query: StreamQuery
    since: str | None
    until: str | None

    @classmethod
    def at(cls, query: StreamQuery, now: datetime) -> "TurnFilter":
        """Return the filter for a query. Raises UsageError if a time in the query is invalid."""
        since, until = (
            None if text is None else parse_time(text, now) for text in (query.since, query.until)
        )
        return cls(query=query, since=since, until=until)

    def matches(self, row: TurnMatch) -> bool:
        """Return True if the turn matches all conditions.

        A turn matches a time period if the two overlap.
        """
        query = self.query
        return (
            query.outcome in (None, row.outcome)
            and query.tool in (None, row.tool)
            and query.decided_by in (None, row.decided_by)
            and (self.since is None or row.ended >= self.since)
            and (self.until is None or row.began <= self.until)
        )


_AGO = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_time(text: str, now: datetime) -> str:
    """Parse an RFC 3339 time, a date, or an age such as `90s` or `1w`.

    Return the time in UTC, in the format used in streams. Raises UsageError if the time is invalid.
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
            f"{text!r} is not a valid time",
            hint="use 2026-01-31T09:30:00Z, 2026-01-31, or an age such as 90s, 15m, 2h, 3d or 1w",
        ) from error
