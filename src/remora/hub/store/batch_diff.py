"""Difference between a batch and what is stored; reads only."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from remora.code.file_facts import NodeFacts
from remora.hub.query.snapshots import StoredNode, moved_at_most
from remora.hub.store.batch import Batch, FileUpdate


class StoredFile(NamedTuple):
    """What was stored of a file before; without an id nothing was. `nodes` are in the order of the
    source; `lowered` is as it is stored."""

    id: int | None
    file_hash: str
    partial: bool
    detail: str
    extras: str
    nodes: Mapping[str, StoredNode]
    names: frozenset[str]
    lowered: bytes | None


UNKNOWN = StoredFile(None, "", False, "", "", nodes={}, names=frozenset(), lowered=None)


class FileDifference(NamedTuple):
    """A file of which something changed; without `update` it is gone."""

    path: str
    before: StoredFile
    update: FileUpdate | None

    @property
    def nodes(self) -> tuple[NodeFacts, ...]:
        """As they are now."""
        return () if self.update is None else self.update.facts.nodes

    def changed(self) -> Iterator[str]:
        """Keys of the nodes of which a fact changed, that are new, or gone."""
        now: dict[str, NodeFacts] = {node.key: node for node in self.nodes}
        for key, stored in self.before.nodes.items():
            if stored.facts != now.get(key) or self._differs(stored):
                yield key
        yield from now.keys() - self.before.nodes.keys()

    def is_same(self, key: str, node: NodeFacts) -> bool:
        """Whether a node is what it was, at most on other lines."""
        stored = self.before.nodes.get(key)
        return (
            stored is not None and moved_at_most(stored.facts, node) and not self._differs(stored)
        )

    def standing(self) -> frozenset[str]:
        """Keys of the nodes of which nothing but their file's hash is to be written: they are what
        and where they were."""
        pairs = zip(self.before.nodes.values(), self.nodes, strict=False)
        return frozenset(
            node.key for stored, node in pairs if stored.facts == node and not self._differs(stored)
        )

    def extra_of(self, node: NodeFacts) -> dict[str, Any]:
        """What users' scripts say of a node now."""
        return {} if self.update is None else self.update.extra.get(node.key, {})

    def _differs(self, stored: StoredNode) -> bool:
        update = self.update
        if update is None:
            return True
        extra = update.extra.get(stored.facts.key, {})
        return stored.partial != update.facts.partial or stored.extra != extra


def differences(batch: Batch, before: Mapping[str, StoredFile]) -> list[FileDifference]:
    """One for each file of the batch of which anything is to be written; `before` is by path."""
    found = [
        FileDifference(update.facts.path, before.get(update.facts.path, UNKNOWN), update)
        for update in batch.updates
    ]
    gone = [FileDifference(path, before[path], None) for path in batch.gone if path in before]
    return [each for each in found if _is_news(each)] + gone


def _is_news(difference: FileDifference) -> bool:
    before, update = difference.before, difference.update
    if before.id is None or update is None:
        return True
    facts = update.facts
    return (
        (before.file_hash, before.partial, before.detail, before.extras)
        != (facts.file_hash, facts.partial, facts.detail, update.extras)
        or len(before.nodes) != len(facts.nodes)
        or next(difference.changed(), None) is not None
    )
