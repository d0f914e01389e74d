"""Reading of streams in pages of bounded size, and of many short streams at once."""

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from operator import itemgetter
from typing import Any, NamedTuple

from remora.trace.content.line_format import MAX_LINE
from remora.trace.postgres.database import Database

_PAGE_BYTES, _PAGE_ROWS = 8 << 20, 1000
_ROW_BYTES = 4 * MAX_LINE
"""Maximum bytes of a row. A larger one is not read, because it was not written by Remora."""
# The size of a compressed value is known without reading it.
_ROWS = """
SELECT seq, CASE WHEN octet_length(lines) <= %(row_bytes)s THEN lines ELSE '' END FROM (
    SELECT seq, lines, sum(octet_length(lines)) OVER (ORDER BY seq) - octet_length(lines) AS before
    FROM events
    WHERE month = %(month)s AND stream = %(id)s AND seq >= coalesce((
        SELECT max(seq) FROM events
        WHERE month = %(month)s AND stream = %(id)s AND seq <= %(start)s
    ), 0)
    ORDER BY seq LIMIT %(rows)s
) AS page WHERE before < %(bytes)s ORDER BY seq
"""
_STREAMS = """
SELECT stream, lines FROM (
    SELECT stream, seq, lines, sum(octet_length(lines)) OVER (ORDER BY stream) AS size
    FROM events WHERE month = %(month)s AND stream = ANY (%(ids)s) AND seq >= 0
) AS page WHERE size <= %(bytes)s ORDER BY stream, seq
"""


class StreamKey(NamedTuple):
    """The key of a stream's row and of its events."""

    id: int
    month: Any


def read_pages(database: Database, key: StreamKey, start: int, end: int) -> Iterator[bytes]:
    """Yield the lines from line number `start` to `end`, each with its newline.

    A page has many lines. The last one may contain later lines, too. Raises DatabaseError.
    """
    while start < end:
        limits = {"rows": _PAGE_ROWS, "bytes": _PAGE_BYTES, "row_bytes": _ROW_BYTES}
        wanted = {**key._asdict(), "start": start, **limits}
        rows = database.rows(_ROWS, wanted, binary=True)
        rows = list(takewhile(itemgetter(1), rows))  # a row that is too large is empty
        page, first = b"".join(lines for _, lines in rows), rows[0][0] if rows else 0
        count = page.count(b"\n")
        if first + count <= start:  # they were lost, or removed since
            return
        yield page.split(b"\n", start - first)[-1] if first < start else page
        start = first + count


def read_streams(database: Database, month: Any, ids: Sequence[int]) -> dict[int, bytes]:
    """Return all lines of streams that were begun in the same month.

    Streams that are too large together are left out. Raises DatabaseError.
    """
    values = {"month": month, "ids": list(ids), "bytes": 2 * _PAGE_BYTES}
    rows = database.rows(_STREAMS, values, binary=True)
    return {
        number: b"".join(lines for _, lines in group)
        for number, group in groupby(rows, key=itemgetter(0))
    }
