"""Batches of file updates, and their differences from the stored state."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from remora.code.file_facts import FileFacts, NodeFacts
from remora.code.ir.model import LoweredFile, encode_lowered
from remora.hub.file_stamp import Stamp
from remora.hub.node import UpdateSource
from remora.hub.query.snapshots import StoredNode, moved_at_most


class FileUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """New state of a file."""

    facts: FileFacts
    lowered: bytes
    """Encoded IR."""
    stamp: Stamp | None
    """None if it is not reliable (see `is_racy`)."""


def pack_update(facts: FileFacts, stamp: Stamp | None) -> FileUpdate:
    """Create an update for a file. The IR is encoded to save memory until the update is stored."""
    lowered = encode_lowered(facts.lowered)
    named = LoweredFile(facts.path, facts.lowered.names)
    facts = msgspec.structs.replace(facts, lowered=named)
    return FileUpdate(facts=facts, lowered=lowered, stamp=stamp)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """File updates to store, and the paths of removed files.

    Paths are spelled as in node keys. Each path occurs at most once.
    """

    updates: tuple[FileUpdate, ...]
    gone: tuple[str, ...] = ()
    source: UpdateSource = "file_change"


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a batch."""

    generation: int
    changed: tuple[str, ...]
    """Sorted keys of all nodes whose facts changed."""
    rebuilt: bool = False
    """True if the database has only this batch now, and all other files must be stored again."""


class StoredFile(NamedTuple):
    """Stored state of a file."""

    id: int | None
    """None if the file is not stored."""
    file_hash: str
    partial: bool
    detail: str
    nodes: Mapping[str, StoredNode]
    """Nodes by key, in source order."""
    names: frozenset[str]
    lowered: bytes | None
    """Encoded IR."""


UNKNOWN = StoredFile(None, "", False, "", nodes={}, names=frozenset(), lowered=None)


class FileDifference(NamedTuple):
    """A changed file. `update` is None if the file was removed."""

    path: str
    before: StoredFile
    update: FileUpdate | None

    @property
    def nodes(self) -> tuple[NodeFacts, ...]:
        return () if self.update is None else self.update.facts.nodes

    def changed(self) -> Iterator[str]:
        """Yield the keys of nodes that were added or removed, or whose facts changed."""
        now: dict[str, NodeFacts] = {node.key: node for node in self.nodes}
        for key, stored in self.before.nodes.items():
            if stored.facts != now.get(key) or self._differs(stored):
                yield key
        yield from now.keys() - self.before.nodes.keys()

    def is_same(self, key: str, node: NodeFacts) -> bool:
        """Return True if the facts of a node are unchanged, except for its line numbers."""
        stored = self.before.nodes.get(key)
        return (
            stored is not None and moved_at_most(stored.facts, node) and not self._differs(stored)
        )

    def standing(self) -> frozenset[str]:
        """Return the keys of nodes for which only the hash of the file changed."""
        pairs = zip(self.before.nodes.values(), self.nodes, strict=False)
        return frozenset(
            node.key for stored, node in pairs if stored.facts == node and not self._differs(stored)
        )

    def _differs(self, stored: StoredNode) -> bool:
        return self.update is None or stored.partial != self.update.facts.partial


def find_differences(batch: Batch, before: Mapping[str, StoredFile]) -> list[FileDifference]:
    """Return the differences that must be written.

    `before` maps the paths of stored files to their stored state.
    """
    found = [
        FileDifference(update.facts.path, before.get(update.facts.path, UNKNOWN), update)
        for update in batch.updates
    ]
    removed = [FileDifference(path, before[path], None) for path in batch.gone if path in before]
    return [difference for difference in found if _is_news(difference)] + removed


def _is_news(difference: FileDifference) -> bool:
    before, update = difference.before, difference.update
    if before.id is None or update is None:
        return True
    facts = update.facts
    return (
        (before.file_hash, before.partial, before.detail)
        != (facts.file_hash, facts.partial, facts.detail)
        or len(before.nodes) != len(facts.nodes)
        or next(difference.changed(), None) is not None
    )
