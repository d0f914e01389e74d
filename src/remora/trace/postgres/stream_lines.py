"""Reading of a stream's lines in pages of bounded size."""

from collections.abc import Iterator
from functools import partial
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


def _fetch(connection: Connection, values: dict[str, Any]) -> list[tuple[int, bytes]]:
    return connection.execute(_ROWS, values, binary=True).fetchall()
