"""Reading of streams in pages of bounded size, and of many short streams at once."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from remora.trace.postgres.database import Connection, Database

_PAGE_BYTES, _PAGE_ROWS = 8 << 20, 1000
# The size of a compressed value is known without reading it.
_ROWS = """
SELECT seq, lines FROM (
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
SELECT stream, lines FROM events
WHERE month = %(month)s AND stream = ANY (%(ids)s) ORDER BY stream, seq
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
        wanted = {**key._asdict(), "start": start, "rows": _PAGE_ROWS, "bytes": _PAGE_BYTES}
        rows = database.run(partial(_fetch, values=wanted))
        page, first = b"".join(lines for _, lines in rows), rows[0][0] if rows else 0
        count = page.count(b"\n")
        if first + count <= start:  # they were lost, or removed since
            return
        yield page.split(b"\n", start - first)[-1] if first < start else page
        start = first + count


def read_streams(database: Database, month: Any, ids: Sequence[int]) -> dict[int, bytes]:
    """Return all lines of streams that were begun in the same month. Raises DatabaseError."""
    values = {"month": month, "ids": list(ids)}
    rows = database.run(
        lambda connection: connection.execute(_STREAMS, values, binary=True).fetchall()
    )
    return {
        number: b"".join(lines for _, lines in group)
        for number, group in groupby(rows, key=itemgetter(0))
    }


def _fetch(connection: Connection, values: dict[str, Any]) -> list[tuple[int, bytes]]:
    return connection.execute(_ROWS, values, binary=True).fetchall()
