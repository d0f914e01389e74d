"""Snapshots: one state of the code, in memory, in the store, or both."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Protocol

import msgspec

from remora.code.file_facts import FileFacts, NodeFacts
from remora.code.ir.model import LoweredFile
from remora.code.pytest_model.reverse_links import KnownLinks
from remora.hub.lookup.search import best
from remora.hub.node import UpdateSource
from remora.hub.observed_links import ObservedCall, ObservedTest
from remora.ids import split_node_key


class StoredNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node's own facts, with what only a database knows: identity, time and users' extras."""

    facts: NodeFacts
    uid: str | None
    file_hash: str
    partial: bool
    last_updated: str | None
    update_source: UpdateSource
    extra: dict[str, Any]


class OutOfTimeError(Exception):
    """A computation over a snapshot takes too long."""


class Snapshot(Protocol):
    """One state of the code. Paths and keys are spelled as in node keys; it is a `Program` too."""

    deadline: float
    """Moment of the monotonic clock after which a view that has far to go for what it tells raises
    OutOfTimeError instead."""

    @property
    def generation(self) -> int:
        """Generation of the database; 0 without one."""

    def paths(self) -> Collection[str]:
        """Return the paths of all Python files."""

    def lowered(self, path: str) -> LoweredFile | None:
        """Return the IR of a file, for linking; None for an unknown file."""

    def mentioning(self, name: str) -> Collection[str]:
        """Paths of the files whose `names` hold it."""

    def node(self, key: str) -> StoredNode | None:
        """Return a node; None for an unknown key."""

    def nodes(self, path: str) -> tuple[StoredNode, ...]:
        """Return the nodes of one file, in source order."""

    def search(self, query: str, limit: int) -> list[StoredNode]:
        """Nodes that hold every word of `query` in path or qualname; the best first."""

    def keys(self) -> Iterable[str]:
        """Return the keys of all nodes."""

    def calls_to(self, key: str) -> tuple[ObservedCall, ...]:
        """All that was seen of calls to the node, whatever happened since."""

    def calls_from(self, key: str) -> tuple[ObservedCall, ...]:
        """All that was seen of calls by the node."""

    def tests_of(self, key: str) -> tuple[ObservedTest, ...]:
        """All that was seen of tests that entered the node."""

    def links(self) -> KnownLinks | None:
        """Return the precomputed links; None where there cannot be any."""


class MemorySnapshot:
    """Files as they were just read, without any database. Keys of `files` are spelled paths."""

    generation = 0
    deadline = math.inf
    """Means nothing: all is at hand."""

    def __init__(self, files: Mapping[str, FileFacts]) -> None:
        self._files = files
        self._by_key: dict[str, StoredNode] | None = None
        self._mentions: dict[str, list[str]] | None = None

    def paths(self) -> Collection[str]:
        """Return the paths of all Python files."""
        return self._files.keys()

    def lowered(self, path: str) -> LoweredFile | None:
        """Return the IR of a file, for linking; None for an unknown file."""
        facts = self._files.get(path)
        return None if facts is None else facts.lowered

    def mentioning(self, name: str) -> Collection[str]:
        """Paths of the files whose `names` hold it."""
        if self._mentions is None:
            self._mentions = {}
            for path in sorted(self._files):
                for each in self._files[path].lowered.names:
                    self._mentions.setdefault(each, []).append(path)
        return self._mentions.get(name, ())

    def node(self, key: str) -> StoredNode | None:
        """Return a node; None for an unknown key."""
        if self._by_key is None:
            self._by_key = {
                node.facts.key: node for path in sorted(self._files) for node in self.nodes(path)
            }
        return self._by_key.get(key)

    def nodes(self, path: str) -> tuple[StoredNode, ...]:
        """Return the nodes of one file, in source order."""
        facts = self._files.get(path)
        return () if facts is None else tuple(just_read(facts, node) for node in facts.nodes)

    def search(self, query: str, limit: int) -> list[StoredNode]:
        """Nodes that hold every word of `query` in path or qualname; the best first."""
        return search_keys(self, query, limit)

    def keys(self) -> Iterator[str]:
        """Return the keys of all nodes."""
        return (node.key for facts in self._files.values() for node in facts.nodes)

    def calls_to(self, key: str) -> tuple[ObservedCall, ...]:  # noqa: ARG002 - nothing was run
        """None."""
        return ()

    def calls_from(self, key: str) -> tuple[ObservedCall, ...]:  # noqa: ARG002
        """None."""
        return ()

    def tests_of(self, key: str) -> tuple[ObservedTest, ...]:  # noqa: ARG002
        """None."""
        return ()

    def links(self) -> None:
        """None."""


class OverlaidSnapshot:
    """A view with some files as they are now; `changed` is by spelled path, None: it is gone.

    A node keeps its uid where its key stayed; its times too, where its own facts stayed.
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
        """Generation of the database below."""
        return self.base.generation

    def paths(self) -> Collection[str]:
        """Return the paths of all Python files."""
        if self._paths is None:
            self._paths = frozenset(
                chain(
                    (path for path in self.base.paths() if path not in self._changed), self._there
                )
            )
        return self._paths

    def lowered(self, path: str) -> LoweredFile | None:
        """Return the IR of a file, for linking; None for an unknown file."""
        return (self._new if path in self._changed else self.base).lowered(path)

    def mentioning(self, name: str) -> Collection[str]:
        """Paths of the files whose `names` hold it."""
        below = (path for path in self.base.mentioning(name) if path not in self._changed)
        return tuple(sorted(chain(below, self._new.mentioning(name))))

    def node(self, key: str) -> StoredNode | None:
        """Return a node; None for an unknown key."""
        if split_node_key(key)[0] not in self._changed:
            return self.base.node(key)
        node = self._new.node(key)
        return None if node is None else self._carried(node)

    def nodes(self, path: str) -> tuple[StoredNode, ...]:
        """Return the nodes of one file, in source order."""
        if path not in self._changed:
            return self.base.nodes(path)
        return tuple(self._carried(node) for node in self._new.nodes(path))

    def search(self, query: str, limit: int) -> list[StoredNode]:
        """Nodes that hold every word of `query` in path or qualname; the best first."""
        return search_keys(self, query, limit)

    def keys(self) -> Iterator[str]:
        """Return the keys of all nodes."""
        below, changed = self.base.keys(), self._changed
        yield from (key for key in below if split_node_key(key)[0] not in changed)
        yield from self._new.keys()

    def calls_to(self, key: str) -> tuple[ObservedCall, ...]:
        """All that was seen of calls to the node."""
        return self.base.calls_to(key)

    def calls_from(self, key: str) -> tuple[ObservedCall, ...]:
        """All that was seen of calls by the node."""
        return self.base.calls_from(key)

    def tests_of(self, key: str) -> tuple[ObservedTest, ...]:
        """All that was seen of tests that entered the node."""
        return self.base.tests_of(key)

    def links(self) -> KnownLinks | None:
        """Return the links of the snapshot below, if no file differs."""
        return None if self._changed else self.base.links()

    def _carried(self, node: StoredNode) -> StoredNode:
        before = self.base.node(node.facts.key)
        if before is None:
            return node
        now = msgspec.structs.replace(node, uid=before.uid)
        if moved_at_most(before.facts, node.facts):
            return msgspec.structs.replace(
                now,
                last_updated=before.last_updated,
                update_source=before.update_source,
                extra=before.extra,
            )
        return now


def just_read(facts: FileFacts, node: NodeFacts) -> StoredNode:
    """A node as no database knows it."""
    return StoredNode(
        facts=node,
        uid=None,
        file_hash=facts.file_hash,
        partial=facts.partial,
        last_updated=None,
        update_source="adhoc",
        extra={},
    )


def moved_at_most(before: NodeFacts, now: NodeFacts) -> bool:
    """True if at most the first line of a node changed."""
    return before == now or before == msgspec.structs.replace(now, line_start=before.line_start)


def search_keys(view: Snapshot, query: str, limit: int) -> list[StoredNode]:
    """Return the result of `Snapshot.search`, by looking at every key."""
    nodes = (view.node(key) for key in best(view.keys(), query, limit))
    return [node for node in nodes if node is not None]
