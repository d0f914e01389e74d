"""Which turns a query means: by their rows, and by the words in their lines."""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from remora.errors import RemoraError
from remora.trace.blobs import blob_references, may_contain_reference
from remora.trace.content.byte_source import ByteSource
from remora.trace.content.line_format import complete_lines
from remora.trace.content.objects import ObjectStore
from remora.trace.index.rows import TurnRow
from remora.trace.index.time_parsing import point_in_time
from remora.trace.read.store_queries import StreamQuery

_PIECE = 1 << 16
_WINDOW = 1 << 20


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of turns, with its times as streams spell them."""

    query: StreamQuery
    since: str | None
    until: str | None

    @classmethod
    def at(cls, query: StreamQuery, now: datetime) -> "Asked":
        """Raises UsageError for a time that is none."""
        since, until = (
            None if text is None else point_in_time(text, now)
            for text in (query.since, query.until)
        )
        return cls(query=query, since=since, until=until)

    def fits(self, row: TurnRow) -> bool:
        """Whether all but the text fits; a turn fits a time that any part of it lies in."""
        wanted = self.query
        return (
            wanted.outcome in (None, row.outcome)
            and wanted.tool in (None, row.tool)
            and wanted.decided_by in (None, row.decided_by)
            and (self.since is None or row.ended >= self.since)
            and (self.until is None or row.began <= self.until)
        )


class TextSearch:
    """Finds a text in lines and in the blobs that they name, whatever the case.

    It costs reading the lines of all turns that fit otherwise, and each of their blobs once.
    """

    def __init__(self, text: str, blobs: ObjectStore) -> None:
        self._text = text.lower()
        # as a JSON string holds it: a quote has a backslash before it
        self._needle = msgspec.json.encode(self._text)[1:-1].decode()
        self._blobs = blobs
        self._seen: dict[str, bool] = {}

    def within(self, source: ByteSource, rows: Iterable[TurnRow]) -> Iterator[TurnRow]:
        """Those rows whose turn has the text."""
        last: tuple[int, bool] | None = None
        for row in rows:
            if last is None or last[0] != row.turn:
                last = row.turn, self._turn_has(source, row)
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
        if digest not in self._seen:
            try:
                self._seen[digest] = _has(self._blobs.get(digest), self._text)
            except RemoraError:  # it is gone or damaged: `verify` will tell
                self._seen[digest] = False
        return self._seen[digest]


def _has(data: bytes, text: str) -> bool:
    """Whether UTF-8 holds a text that is in lower case. In pieces, which overlap: a line may have
    64 MB, and text takes up to four times as much memory."""
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
