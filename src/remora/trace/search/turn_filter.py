"""Conditions on streams and turns, and text search in lines and blobs."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from remora.errors import RemoraError, UsageError
from remora.trace.blobs import blob_references, may_contain_reference
from remora.trace.content.byte_source import ByteSource
from remora.trace.content.line_format import complete_lines
from remora.trace.content.objects import ObjectStore
from remora.trace.read.reader import StreamInfo
from remora.trace.search.turn_rows import TurnMatch, TurnRow
from remora.trace.stream.line_builder import format_timestamp

_PIECE = 1 << 16
_WINDOW = 1 << 20


class StreamQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on streams and turns. A condition of None matches everything.

    `run`, `operation`, `status`, `outcome`, `tool` and `decided_by` must match exactly. `node` is a
    name or a glob, either `path:qualname` or only a qualname. `since` and `until` are RFC 3339
    times, dates, or ages such as `90s`, `15m`, `2h`, `3d` or `1w`. `text` must occur in a recorded
    line or blob, ignoring case.
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
    text: str | None = None

    def of_turns(self) -> bool:
        """Return True if the query has conditions on turns."""
        asked = (self.outcome, self.tool, self.decided_by, self.since, self.until, self.text)
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
        """Return True if the turn matches all conditions except the text search.

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


class TextSearch:
    """Case-insensitive search for a string in turns and their blobs. Each blob is searched once."""

    def __init__(self, text: str, blobs: ObjectStore) -> None:
        self._text = text.lower()
        # escaped as in a JSON string: a quote has a backslash before it
        self._needle = msgspec.json.encode(self._text)[1:-1].decode()
        self._blobs = blobs
        self._blob_results: dict[str, bool] = {}

    def within(self, source: ByteSource, rows: Iterable[TurnRow]) -> Iterator[TurnRow]:
        """Yield the rows of turns that contain the string."""
        last: tuple[int, bool] | None = None
        for row in rows:
            if last is None or last[0] != row.match.turn:
                last = row.match.turn, self._turn_has(source, row)
            if last[1]:
                yield row

    def _turn_has(self, source: ByteSource, row: TurnRow) -> bool:
        for line in complete_lines(source, row.begin, piece=_PIECE):
            if row.end is not None and line.offset >= row.end:
                break
            if self._line_has(line.raw):
                return True
        return False

    def _line_has(self, raw: bytes) -> bool:
        if _has(raw, self._needle):
            return True
        return may_contain_reference(raw) and any(map(self._blob_has, _digests(raw)))

    def _blob_has(self, digest: str) -> bool:
        if digest not in self._blob_results:
            try:
                self._blob_results[digest] = _has(self._blobs.get(digest), self._text)
            except RemoraError:  # missing or damaged: `verify` reports it
                self._blob_results[digest] = False
        return self._blob_results[digest]


def _has(data: bytes, text: str) -> bool:
    """Return True if `data` contains `text`, ignoring case. `text` must be lowercase.

    Decodes in pieces, because a line may be up to 64 MiB long.
    """
    overlap = 4 * len(text) + 4
    return any(
        text in data[start : start + _WINDOW + overlap].decode("utf-8", "replace").lower()
        for start in range(0, max(1, len(data)), _WINDOW)
    )


def _digests(raw: bytes) -> Iterator[str]:
    try:
        found = blob_references(msgspec.json.decode(raw))
    except (ValueError, RecursionError):
        return
    for reference in found:
        if isinstance(reference, dict) and isinstance(reference.get("sha256"), str):
            yield reference["sha256"]


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
