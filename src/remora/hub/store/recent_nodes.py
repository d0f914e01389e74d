"""Nodes created a moment ago: one that vanishes now may have moved there."""

from collections.abc import Collection, Iterable

from remora.hub.store.node_identity import Fresh

KEPT_S = 60
"""Seconds for which a birth is remembered: a move may be told in two parts, the new place first."""
MOST = 20_000


class RecentNodes:
    """By key, the nodes that got a new uid lately; in memory only."""

    def __init__(self) -> None:
        self._born: dict[str, tuple[Fresh, int]] = {}

    def recent(self, now: int) -> list[Fresh]:
        """Those of the last minute; `now` is in seconds."""
        self._born = {
            key: birth for key, birth in self._born.items() if now - KEPT_S <= birth[1] <= now
        }
        return [fresh for fresh, _ in self._born.values()]

    def add(self, nodes: Collection[Fresh], now: int) -> None:
        """Remember these; so many at once are no move."""
        if len(nodes) + len(self._born) <= MOST:
            self._born.update((node.key, (node, now)) for node in nodes)

    def forget(self, keys: Iterable[str]) -> None:
        """These are somebody now, changed, or gone."""
        for key in keys:
            self._born.pop(key, None)
