"""The turns of a large stream that a share file shows as rows, and those that it shows whole."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from remora.web.turn_rows import TurnRow

MOST_ROWS = 1_000
_EDGE = 50
"""First and last turns that always have a row."""


def by_importance(rows: Sequence[TurnRow], look_at: int) -> list[int]:
    """Return the numbers of all turns: the one to look at, the first, the last, the ones around
    failures, and then the others in order.
    """
    places = {row.turn: place for place, row in enumerate(rows)}
    failed = [place for place, row in enumerate(rows) if row.state in ("error", "damaged")]
    nearby = chain.from_iterable((place, place - 1, place + 1) for place in failed)
    first = [places.get(look_at, 0), 0, 1, len(rows) - 1]
    order = dict.fromkeys(chain(first, nearby, range(len(rows))))
    return [rows[place].turn for place in order if 0 <= place < len(rows)]


def listed_rows(
    rows: Sequence[TurnRow], important: Iterable[int], most: int = MOST_ROWS
) -> Iterator[TurnRow | range]:
    """Yield the rows to show. Turns without a row are given as a range."""
    if len(rows) <= most:
        yield from rows
        return
    edges = {row.turn for row in (*rows[:_EDGE], *rows[-_EDGE:])}
    ordered = chain(edges, (turn for turn in important if turn not in edges))
    kept = {turn for turn, _ in zip(ordered, range(most), strict=False)}
    left_out: list[int] = []
    for row in rows:
        if row.turn not in kept:
            left_out.append(row.turn)
            continue
        if left_out:
            yield range(left_out[0], left_out[-1] + 1)
            left_out = []
        yield row
