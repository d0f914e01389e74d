"""Recently created nodes. A node that disappears may have moved to one of them."""

from collections.abc import Collection, Iterable

from remora.hub.store.node_identity import NewNode

REMEMBER_S = 60
"""Seconds to remember a new node. A move may be reported in two parts, the new path first."""
MAX_NODES = 20_000


class RecentNodes:
    """Nodes whose uid was created recently, keyed by node key. They are kept only in memory."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[NewNode, int]] = {}

    def recent(self, now: int) -> list[NewNode]:
        """Return the nodes created in the last minute. `now` is in seconds."""
        self._nodes = {
            key: birth for key, birth in self._nodes.items() if now - REMEMBER_S <= birth[1] <= now
        }
        return [fresh for fresh, _ in self._nodes.values()]

    def add(self, nodes: Collection[NewNode], now: int) -> None:
        """Add new nodes, unless there are too many to be the result of a move."""
        if len(nodes) + len(self._nodes) <= MAX_NODES:
            self._nodes.update((node.key, (node, now)) for node in nodes)

    def forget(self, keys: Iterable[str]) -> None:
        """Remove nodes that were matched, changed or deleted."""
        for key in keys:
            self._nodes.pop(key, None)
