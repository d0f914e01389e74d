"""Reading of the rows of streams, of their lines in pages, and of many short streams at once."""

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from operator import itemgetter
from typing import Any, NamedTuple

from remora.trace.content.line_format import MAX_LINE
from remora.trace.postgres.database import Database
from remora.trace.postgres.owner import Owner

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


# A worker may write any time that the table accepts, so a lease is limited here.
SELECT_ROWS = """
SELECT id, month, name, epoch, next_seq, head, bytes, owner, closed,
    CASE WHEN owner IS NOT NULL AND lease_until > clock_timestamp()
    THEN extract(epoch FROM
        least(lease_until, clock_timestamp() + interval '1 day') - clock_timestamp()
    )::float ELSE 0 END
FROM streams WHERE project = %(project)s
"""
"""Query for each `StreamRow` of a project, to which a condition can be added."""


class StreamRow(NamedTuple):
    """The row of a stream."""

    id: int
    month: Any
    """The month in which it was begun. With `id`, it is the key of the stream's events."""
    name: str
    epoch: int
    """The number of claims."""
    next_seq: int
    """The number of lines."""
    head: str
    """The hash of the last line."""
    bytes: int
    """The size of the lines, as their writers recorded it."""
    owner: str | None
    """The encoded owner, or None if it was released."""
    closed: bool
    """True if the agent has ended."""
    lease_s: float
    """The rest of its owner's lease in seconds, or 0."""

    @property
    def is_written(self) -> bool:
        """True if its owner has a lease, and has not died on this machine."""
        owner = Owner.decode(self.owner) if self.owner and self.lease_s > 0 else None
        return self.lease_s > 0 and not (owner is not None and owner.has_died)


def read_pages(database: Database, row: StreamRow, start: int, end: int) -> Iterator[bytes]:
    """Yield the lines from line number `start` to `end`, each with its newline.

    A page has many lines. The last one may contain later lines, too. Raises DatabaseError.
    """
    while start < end:
        limits = {"rows": _PAGE_ROWS, "bytes": _PAGE_BYTES, "row_bytes": _ROW_BYTES}
        wanted = {"id": row.id, "month": row.month, "start": start, **limits}
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
