"""Writer that stores a batch in a transaction."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from remora.code.file_facts import FileFacts
from remora.hub.node import UpdateSource
from remora.hub.query.snapshots import StoredNode
from remora.hub.store.batch import FileDifference
from remora.hub.store.file_rows import NODE_COLUMNS, node_values, stamp_values

LOGGED_AT_ONCE = 10_000
"""Maximum keys logged per transaction. A longer list is not useful and is not logged."""
LOGGED = 50_000
"""Approximate maximum number of keys in the log; older keys are deleted."""
_BETWEEN_COUNTS = 16
"""Generations between two counts of the log, because a count reads all of it (decision)."""
_COLUMNS = NODE_COLUMNS.split(", ")
_PUT_NODE = (
    f"INSERT INTO node_state ({NODE_COLUMNS}) VALUES ({','.join('?' * len(_COLUMNS))}) "  # noqa: S608
    f"ON CONFLICT (key) DO UPDATE SET {','.join(f'{c}=excluded.{c}' for c in _COLUMNS[1:])}"
)
# one statement for all names of a file is twice as fast as one statement per name
_PUT_MENTIONS = "INSERT OR IGNORE INTO mentions SELECT value, ? FROM json_each(?)"
_PUT_FILE = "INSERT OR REPLACE INTO file_index VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_HASH_NODES = (  # the same key range as in `StoredSnapshot.nodes`
    "UPDATE node_state SET file_hash = ? WHERE key BETWEEN ? AND ? AND file_path = ?"
)


class BatchWriter:
    """Writes the changes of a batch within the caller's transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        changed: Sequence[FileDifference],
        source: UpdateSource,
        now: datetime,
    ) -> None:
        self._connection = connection
        self._changed = changed
        self._source = source
        self._stamp = f"{now:%Y-%m-%dT%H:%M:%S.%fZ}"

    def write(self, generation: int) -> tuple[str, ...]:
        """Write all changes as `generation`.

        Returns the sorted keys of all nodes whose facts changed.
        """
        keys = tuple(sorted(key for difference in self._changed for key in difference.changed()))
        run = self._connection.execute
        self._write_files(generation)
        self._write_nodes()
        self._connection.executemany("DELETE FROM node_state WHERE key = ?", self._gone_nodes())
        log_changes(self._connection, generation, keys)
        run("UPDATE meta SET value = ? WHERE name = 'generation'", (generation,))
        return keys

    def _write_files(self, generation: int) -> None:
        run, many = self._connection.execute, self._connection.executemany
        removed = [
            difference.before.id for difference in self._changed if difference.update is None
        ]
        many("DELETE FROM file_index WHERE id = ?", [(id_,) for id_ in removed])
        (last,) = run("SELECT coalesce(max(id), 0) FROM file_index").fetchone()
        files: list[tuple[Any, ...]] = []
        ids: dict[str, int] = {}
        removed_mentions: list[tuple[str, int | None]] = []
        mentions: list[tuple[int, str]] = []
        adds_files = False
        for difference in self._changed:
            if difference.update is None:
                removed_mentions += [
                    (name, difference.before.id) for name in difference.before.names
                ]
                continue
            if (id_ := difference.before.id) is None:
                last += 1
                id_, adds_files = last, True
            files.append(_file_values(id_, difference))
            ids[difference.path] = id_
            names, before = difference.update.facts.lowered.names, difference.before.names
            removed_mentions += [(name, id_) for name in before.difference(names)] if before else []
            if added := [name for name in names if name not in before] if before else names:
                mentions.append((id_, msgspec.json.encode(added).decode()))
        many(_PUT_FILE, files)
        self._write_ir(generation, ids)
        many("DELETE FROM mentions WHERE name = ? AND file = ?", removed_mentions)
        many(_PUT_MENTIONS, mentions)
        if adds_files or removed:
            run("UPDATE meta SET value = ? WHERE name = 'paths_since'", (generation,))

    def _write_ir(self, generation: int, ids: Mapping[str, int]) -> None:
        """Write the IR that changed, and the previous IR, which is used to find outdated links."""
        changed = [
            difference
            for difference in self._changed
            if difference.update is None or difference.update.lowered != difference.before.lowered
        ]
        if not changed:
            return
        run, many = self._connection.execute, self._connection.executemany
        removed = [(difference.before.id,) for difference in changed if difference.update is None]
        many("DELETE FROM file_facts WHERE file = ?", removed)
        new = [
            (ids[difference.path], difference.update.lowered)
            for difference in changed
            if difference.update
        ]
        many("INSERT OR REPLACE INTO file_facts VALUES (?, ?)", new)
        run("UPDATE meta SET value = ? WHERE name = 'lowered_since'", (generation,))
        if run("SELECT 1 FROM meta WHERE name = 'links_base'").fetchone():
            before = [(difference.path, difference.before.lowered) for difference in changed]
            many("INSERT OR IGNORE INTO unlinked VALUES (?, ?)", before)

    def _write_nodes(self) -> None:
        """Write the nodes of all changed files.

        One statement per file updates the unchanged nodes. Each other node needs its own statement.
        """
        for difference in self._changed:
            if difference.update is not None:
                facts, unchanged = difference.update.facts, difference.standing()
                if unchanged:
                    path = difference.path
                    key_range = (f"node:{path}:", f"node:{path};", path)
                    self._connection.execute(_HASH_NODES, (facts.file_hash, *key_range))
                self._connection.executemany(
                    _PUT_NODE, self._node_rows(difference, facts, unchanged)
                )

    def _node_rows(
        self, difference: FileDifference, facts: FileFacts, unchanged: Collection[str]
    ) -> Iterator[tuple[Any, ...]]:
        for place, node in enumerate(facts.nodes):
            if node.key not in unchanged:
                before = difference.before.nodes.get(node.key)
                last_updated, source = self._stamp, self._source
                if before is not None and difference.is_same(node.key, node):
                    last_updated = before.last_updated or self._stamp
                    source = before.update_source
                stored = StoredNode(
                    facts=node,
                    file_hash=facts.file_hash,
                    partial=facts.partial,
                    last_updated=last_updated,
                    update_source=source,
                )
                yield node_values(facts.path, place, stored)

    def _gone_nodes(self) -> list[tuple[str]]:
        return [
            (key,)
            for difference in self._changed
            for key in difference.before.nodes.keys() - {node.key for node in difference.nodes}
        ]


def log_changes(connection: sqlite3.Connection, generation: int, keys: Sequence[str]) -> None:
    """Log the keys of the nodes that a transaction changed.

    If the log is too long, the oldest entries are deleted.
    """
    if len(keys) > LOGGED_AT_ONCE:
        _forget_until(connection, generation)
        return
    connection.executemany("INSERT INTO changes VALUES (?, ?)", [(generation, key) for key in keys])
    if generation % _BETWEEN_COUNTS == 0:
        (count,) = connection.execute("SELECT count(*) FROM changes").fetchone()
        if count > LOGGED:
            (until,) = connection.execute(
                "SELECT generation FROM changes ORDER BY generation LIMIT 1 OFFSET ?",
                (count - LOGGED // 2,),
            ).fetchone()
            _forget_until(connection, until)


def _forget_until(connection: sqlite3.Connection, generation: int) -> None:
    connection.execute("DELETE FROM changes WHERE generation <= ?", (generation,))
    connection.execute("UPDATE meta SET value = ? WHERE name = 'logged_from'", (generation,))


def _file_values(id_: int, changed: FileDifference) -> tuple[Any, ...]:
    assert changed.update is not None
    facts = changed.update.facts
    return (
        id_,
        facts.path,
        *stamp_values(changed.update.stamp),
        facts.file_hash,
        facts.partial,
        facts.detail,
    )
