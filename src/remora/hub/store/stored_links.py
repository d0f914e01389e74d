"""Precomputed links that are stored in the database."""

from collections.abc import Callable
from typing import Any

import msgspec

from remora.code.links import TIER_RANK, Edge

LINES = msgspec.json.Decoder(tuple[int, ...])
# one statement reads one state; if the links are complete, it returns at least one row
_ASK = (
    "SELECT {end}, tier, lines FROM (SELECT 1) LEFT JOIN dependencies "
    "ON {start} = ? AND dependency_type = ? WHERE (SELECT value FROM meta WHERE name = 'links_of') "
    "= (SELECT value FROM meta WHERE name = 'lowered_since')"
)
_FORWARD = _ASK.format(start="source_key", end="target_key")
_BACKWARD = _ASK.format(start="target_key", end="source_key")


class StoredLinks:
    """Precomputed links.

    Methods that look up links return None unless all links of the latest state are stored.
    """

    def __init__(
        self, ask: Callable[..., list[tuple[Any, ...]]], damaged: Callable[[Exception], Exception]
    ) -> None:
        self._ask = ask
        self._damaged = damaged

    def complete(self) -> bool:
        """Return True if all links of the latest state are stored."""
        return bool(self._ask(_FORWARD, "", "call"))

    def callers(self, key: str) -> tuple[Edge, ...] | None:
        return self._edges(_BACKWARD, key, "call")

    def callees(self, key: str) -> tuple[Edge, ...] | None:
        return self._edges(_FORWARD, key, "call")

    def importers(self, key: str) -> tuple[Edge, ...] | None:
        return self._edges(_BACKWARD, key, "import")

    def _edges(self, sql: str, key: str, kind: str) -> tuple[Edge, ...] | None:
        if not (rows := self._ask(sql, key, kind)):
            return None
        try:
            edges = [Edge(key=a, tier=b, lines=LINES.decode(c)) for a, b, c in rows if a]
            edges.sort(key=lambda edge: (TIER_RANK[edge.tier], edge.key))
        except (msgspec.MsgspecError, KeyError) as error:
            raise self._damaged(error) from error
        return tuple(edges)
