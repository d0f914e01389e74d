"""Uids of the nodes in a batch, of nodes that no longer exist, and of nodes that may have moved."""

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from remora.hub.query.snapshots import Continued
from remora.hub.store.batch import FileDifference
from remora.hub.store.node_identity import Identity, NewNode, follow

_RECENT_S = 60
"""Seconds to remember a new node. A move may be reported in two parts, the new path first."""
_MAX_NODES = 20_000


class RecentNodes:
    """Nodes whose uid was created recently, keyed by node key. They are kept only in memory."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[NewNode, int]] = {}

    def recent(self, now: int) -> list[NewNode]:
        """Return the nodes created in the last minute. `now` is in seconds."""
        self._nodes = {
            key: birth for key, birth in self._nodes.items() if now - _RECENT_S <= birth[1] <= now
        }
        return [fresh for fresh, _ in self._nodes.values()]

    def add(self, nodes: Collection[NewNode], now: int) -> None:
        """Add new nodes, unless there are too many to be the result of a move."""
        if len(nodes) + len(self._nodes) <= _MAX_NODES:
            self._nodes.update((node.key, (node, now)) for node in nodes)

    def forget(self, keys: Iterable[str]) -> None:
        """Remove nodes that were matched, changed or deleted."""
        for key in keys:
            self._nodes.pop(key, None)


REMEMBER_S = 30 * 24 * 3600
"""Seconds to remember a vanished node."""
_AT_ONCE = 5000  # values in one SQLite query
_BYTES = 16


class Identities:
    """Uids of all nodes in changed files.

    The stored uids are read first, and changes are written later. `now` is a Unix time.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        changed: Sequence[FileDifference],
        recent: RecentNodes,
        now: int,
    ) -> None:
        self._connection = connection
        self._recent = recent
        self._now = now
        self._new: list[NewNode] = []
        self._adopted: dict[str, Identity] = {}
        self._returned: list[str] = []
        self._found = _unchanged_uids(changed)
        old, new = _other_nodes(changed, self._found)
        self._touched = {*self._found, *(node.key for node in old), *(node.key for node in new)}
        matched = [
            node.facts.body_hash
            for difference in changed
            for node in difference.before.nodes.values()
        ]
        self._known = (
            follow(old, new, lambda bodies: self._other_counts(bodies, matched)) if old else {}
        )
        self._found.update((key, identity.uid) for key, identity in self._known.items())
        used = {identity.key for identity in self._known.values()}
        self._removed = [identity for identity in old if identity.key not in used]
        self._assign_uids([node for node in new if node.key not in self._found])
        if self._removed:
            self._match_recent()

    def __getitem__(self, key: str) -> str:
        return self._found[key]

    def continued(self) -> dict[str, Continued]:
        """Return the identities of the nodes that existed before, by their present keys."""
        known = {**self._known, **self._adopted}
        made = {node.key for node in self._new}
        return {
            key: Continued(uid, known[key].key if key in known else key)
            for key, uid in self._found.items()
            if key not in made
        }

    @property
    def adopted(self) -> Iterable[str]:
        """Keys of nodes in other files that take over the uids of removed nodes."""
        return self._adopted

    def write(self) -> None:
        """Store the uids of removed nodes, and delete the uids of nodes that reappeared."""
        for uid in self._returned:
            self._connection.execute("DELETE FROM uids WHERE uid = ?", (uid,))
        if self._removed:
            forget_old(self._connection, self._now)
        self._connection.executemany(
            "UPDATE node_state SET uid = ? WHERE key = ?",
            [(old.uid, key) for key, old in self._adopted.items()],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO uids VALUES (?, ?, ?, ?, ?)",
            [
                (identity.uid, identity.key, identity.node_type, identity.body_hash, self._now)
                for identity in self._removed
            ],
        )

    def record_commit(self, *, cold: bool) -> None:
        """Record that the transaction was committed.

        `cold` is True for a cold start, when no node can have moved.
        """
        self._recent.forget((*self._touched, *self._adopted))
        if not cold:
            self._recent.add(self._new, self._now)

    def _match_recent(self) -> None:
        """Match removed nodes with nodes that were recently created in other files."""
        nodes = [node for node in self._recent.recent(self._now) if node.key not in self._touched]
        if nodes:
            self._adopted = follow(self._removed, nodes, lambda bodies: dict.fromkeys(bodies, 1))
            moved = {old.key for old in self._adopted.values()}
            self._removed = [identity for identity in self._removed if identity.key not in moved]

    def _assign_uids(self, new: list[NewNode]) -> None:
        """Assign uids to the remaining nodes.

        A node gets the uid of a matching node that was removed earlier, or else a new uid.
        """
        if new and self._connection.execute("SELECT 1 FROM uids LIMIT 1").fetchone():
            old = self._earlier_nodes(new)
            back = follow(old, new, lambda bodies: self._other_counts(bodies, ()))
            self._known |= back
            self._found.update((key, identity.uid) for key, identity in back.items())
            self._returned = [identity.uid for identity in back.values()]
            new = [node for node in new if node.key not in back]
        self._new = new
        random = os.urandom(_BYTES * len(new)).hex()
        size = 2 * _BYTES
        for number, node in enumerate(new):
            self._found[node.key] = random[number * size : (number + 1) * size]

    def _earlier_nodes(self, new: list[NewNode]) -> list[Identity]:
        found: dict[str, Identity] = {}
        for column, values in (
            ("key", {node.key for node in new}),
            ("body_hash", {node.body_hash for node in new}),
        ):
            sql = f"SELECT uid, key, node_type, body_hash FROM uids WHERE {column} IN "  # noqa: S608
            condition = f" AND since >= {self._now - REMEMBER_S} ORDER BY since"
            for row in _select(self._connection, sql, values, condition):
                found[row[0]] = Identity(*row)
        # of two nodes with the same key, only the newer can match
        return list({identity.key: identity for identity in found.values()}.values())

    def _other_counts(self, bodies: frozenset[str], matched: Iterable[str]) -> Mapping[str, int]:
        """Return how many stored nodes have each body, without those that are `matched`."""
        sql = "SELECT body_hash, count(*) FROM node_state WHERE body_hash IN "
        rows = _select(self._connection, sql, bodies, " GROUP BY body_hash")
        counts: dict[str, int] = dict(rows)
        for body in matched:
            if body in counts:
                counts[body] -= 1
        return counts


def _unchanged_uids(changed: Sequence[FileDifference]) -> dict[str, str]:
    """Return the uids of nodes whose key and body are unchanged.

    `follow` would match these nodes first.
    """
    found: dict[str, str] = {}
    for difference in changed:
        before = difference.before.nodes
        for node in difference.nodes:
            if (stored := before.get(node.key)) is None:
                continue
            old = stored.facts
            if old.body_hash == node.body_hash and old.node_type == node.node_type:
                found[node.key] = stored.uid or ""
    return found


def _other_nodes(
    changed: Sequence[FileDifference], staying: Collection[str]
) -> tuple[list[Identity], list[NewNode]]:
    old = [
        Identity(node.uid or "", key, node.facts.node_type, node.facts.body_hash)
        for difference in changed
        for key, node in difference.before.nodes.items()
        if key not in staying
    ]
    new = [
        NewNode(node.key, node.node_type, node.body_hash)
        for difference in changed
        for node in difference.nodes
        if node.key not in staying
    ]
    return old, new


def forget_old(connection: sqlite3.Connection, now: int) -> None:
    """Delete the uids of nodes that were removed long ago."""
    connection.execute("DELETE FROM uids WHERE since < ?", (now - REMEMBER_S,))


def _select(
    connection: sqlite3.Connection, sql: str, values: Collection[str], condition: str
) -> Iterator[tuple[Any, ...]]:
    remaining = iter(sorted(values))
    while portion := list(islice(remaining, _AT_ONCE)):
        marks = ",".join("?" * len(portion))
        yield from connection.execute(f"{sql}({marks}){condition}", portion)
