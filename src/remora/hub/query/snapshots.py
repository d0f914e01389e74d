"""Snapshots of the code. A snapshot is held in memory, in the store, or in both."""

import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Protocol

import msgspec

from remora.code.callgraph.files.program_protocol import OutOfTimeError, Program
from remora.code.file_facts import FileFacts, NodeFacts
from remora.code.ir.model import LoweredFile
from remora.code.pytest_model.caller_search import KnownLinks
from remora.hub.lookup.search import best_matches
from remora.hub.node import UpdateSource
from remora.ids import split_node_key


class StoredNode(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of a node, with its identity and times.

    The additional values exist only in a database.
    """

    facts: NodeFacts
    file_hash: str
    partial: bool
    last_updated: str | None
    update_source: UpdateSource


class Snapshot(Program, Protocol):
    """A state of the code, with its nodes."""

    deadline: float
    """Monotonic time after which slow methods and the linker raise OutOfTimeError."""

    @property
    def generation(self) -> int:
        """Generation of the database, or 0 if there is no database."""

    def node(self, key: str) -> StoredNode | None:
        """Return a node, or None if the key is unknown."""

    def nodes(self, path: str) -> tuple[StoredNode, ...]:
        """Return the nodes of a file in source order."""

    def search(self, query: str, limit: int) -> list[StoredNode]:
        """Return nodes whose key contains every word of `query`, best matches first."""

    def keys(self) -> Iterable[str]:
        """Return the keys of all nodes."""

    def links(self) -> KnownLinks | None:
        """Return the precomputed links, or None if this snapshot has none."""


class MemorySnapshot:
    """Snapshot of analyzed files without a database.

    `files` is keyed by path as spelled in node keys.
    """

    generation = 0

    deadline = math.inf

    def __init__(self, files: Mapping[str, FileFacts]) -> None:
        self._files = files
        self._by_key: dict[str, StoredNode] | None = None
        self._mentions: dict[str, list[str]] | None = None

    def check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError

    def paths(self) -> Collection[str]:
        return self._files.keys()

    def lowered(self, path: str) -> LoweredFile | None:
        facts = self._files.get(path)
        return None if facts is None else facts.lowered

    def mentioning(self, name: str) -> Collection[str]:
        if self._mentions is None:
            self._mentions = {}
            for path in sorted(self._files):
                for mentioned in self._files[path].lowered.names:
                    self._mentions.setdefault(mentioned, []).append(path)
        return self._mentions.get(name, ())

    def node(self, key: str) -> StoredNode | None:
        if self._by_key is None:
            self._by_key = {
                node.facts.key: node for path in sorted(self._files) for node in self.nodes(path)
            }
        return self._by_key.get(key)

    def nodes(self, path: str) -> tuple[StoredNode, ...]:
        facts = self._files.get(path)
        return () if facts is None else tuple(_unstored_node(facts, node) for node in facts.nodes)

    def search(self, query: str, limit: int) -> list[StoredNode]:
        return search_keys(self, query, limit)

    def keys(self) -> Iterator[str]:
        return (node.key for facts in self._files.values() for node in facts.nodes)

    def links(self) -> None:
        """Return None, because there are no precomputed links."""


class OverlaidSnapshot:
    """A snapshot in which some files are replaced.

    `changed` contains the replacements by path, with None for deleted files. A node whose facts are
    unchanged keeps its time.
    """

    def __init__(self, base: Snapshot, changed: Mapping[str, FileFacts | None]) -> None:
        self.base = base
        self.deadline = math.inf
        self._changed = changed
        self._there = {path: facts for path, facts in changed.items() if facts is not None}
        self._new = MemorySnapshot(self._there)
        self._paths: frozenset[str] | None = None

    @property
    def generation(self) -> int:
        return self.base.generation

    def check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError

    def paths(self) -> Collection[str]:
        if self._paths is None:
            self._paths = frozenset(
                chain(
                    (path for path in self.base.paths() if path not in self._changed), self._there
                )
            )
        return self._paths

    def lowered(self, path: str) -> LoweredFile | None:
        self.check_time()
        return (self._new if path in self._changed else self.base).lowered(path)

    def mentioning(self, name: str) -> Collection[str]:
        self.check_time()
        unchanged = (path for path in self.base.mentioning(name) if path not in self._changed)
        return tuple(sorted(chain(unchanged, self._new.mentioning(name))))

    def node(self, key: str) -> StoredNode | None:
        self.check_time()
        if split_node_key(key)[0] not in self._changed:
            return self.base.node(key)
        node = self._new.node(key)
        return None if node is None else self._with_stored_time(node)

    def nodes(self, path: str) -> tuple[StoredNode, ...]:
        if path not in self._changed:
            return self.base.nodes(path)
        return tuple(self._with_stored_time(node) for node in self._new.nodes(path))

    def search(self, query: str, limit: int) -> list[StoredNode]:
        return search_keys(self, query, limit)

    def keys(self) -> Iterator[str]:
        keys, changed = self.base.keys(), self._changed
        yield from (key for key in keys if split_node_key(key)[0] not in changed)
        yield from self._new.keys()

    def links(self) -> KnownLinks | None:
        """Return the links of the base snapshot, or None if any file is replaced."""
        return None if self._changed else self.base.links()

    def _with_stored_time(self, node: StoredNode) -> StoredNode:
        before = self.base.node(node.facts.key)
        if before is None or not moved_at_most(before.facts, node.facts):
            return node
        return msgspec.structs.replace(
            node, last_updated=before.last_updated, update_source=before.update_source
        )


def _unstored_node(facts: FileFacts, node: NodeFacts) -> StoredNode:
    """Return a StoredNode without database values."""
    return StoredNode(
        facts=node,
        file_hash=facts.file_hash,
        partial=facts.partial,
        last_updated=None,
        update_source="adhoc",
    )


def moved_at_most(before: NodeFacts, now: NodeFacts) -> bool:
    """Return True if the nodes are equal except for the line number."""
    return before == now or before == msgspec.structs.replace(now, line_start=before.line_start)


def search_keys(view: Snapshot, query: str, limit: int) -> list[StoredNode]:
    """Return the result of `Snapshot.search` by scanning all keys."""
    nodes = (view.node(key) for key in best_matches(view.keys(), query, limit))
    return [node for node in nodes if node is not None]
