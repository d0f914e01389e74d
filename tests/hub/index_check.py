"""Verification of the index, which compares the stored state with a fresh analysis."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from remora.code.callgraph.linker import Linker
from remora.code.file_facts import NodeFacts
from remora.code.ir.model import encode_lowered
from remora.code.links import TIERS, Edge
from remora.hub.file_reader import read_all
from remora.hub.members.members import Members
from remora.hub.query.snapshots import MemorySnapshot, Snapshot
from remora.ids import MODULE, node_key

_COMPARED_FIELDS = tuple(
    field.name
    for field in msgspec.structs.fields(NodeFacts)
    if field.name not in {"key", "qualname"}
)
"""Compared fields of a node. Identity, times, extras and observations are not compared."""


class Difference(NamedTuple):
    """A difference: `field` is `key` if only one has the node, `lowered` if the IR differs."""

    key: str
    field: str
    stored: Any
    cold: Any


class IndexCheck(NamedTuple):
    """Result of a check of `checked` nodes."""

    ok: bool
    checked: int
    differences: tuple[Difference, ...]


def verify(root: Path, members: Members, view: Snapshot) -> IndexCheck:
    """Compare the index with the files, without writing anything."""
    cold = MemorySnapshot(read_all(root, members.sweep(), limit=members.file_limit))
    keys = sorted({*view.keys(), *cold.keys()})
    found = [
        *_files(view, cold),
        *(each for key in keys for each in _node_differences(key, view, cold)),
    ]
    found += _links(keys, view, cold)
    found.sort(key=lambda difference: (difference.key, difference.field))
    return IndexCheck(not found, len(keys), tuple(found))


def _files(view: Snapshot, cold: Snapshot) -> Iterator[Difference]:
    """Yield differences in IR and mentions. If the IR is equal, the linker finds equal links."""
    names: set[str] = set()
    for path in sorted({*view.paths(), *cold.paths()}):
        key = node_key(path, MODULE)
        stored, now = view.lowered(path), cold.lowered(path)
        if (stored and encode_lowered(stored)) != (now and encode_lowered(now)):
            yield Difference(key, "lowered", stored is not None, now is not None)
        names.update(now.names if now else ())
    for name in sorted(names):
        mentioning, truly = set(view.mentioning(name)), set(cold.mentioning(name))
        for path in sorted(mentioning ^ truly):
            yield Difference(node_key(path, MODULE), "mentions", path in mentioning, path in truly)


def _node_differences(key: str, view: Snapshot, cold: Snapshot) -> Iterator[Difference]:
    stored, now = view.node(key), cold.node(key)
    if stored is None or now is None:
        yield Difference(key, "key", stored and key, now and key)
        return
    for field in _COMPARED_FIELDS:
        yield from _different(key, field, getattr(stored.facts, field), getattr(now.facts, field))
    yield from _different(key, "file_hash", stored.file_hash, now.file_hash)
    yield from _different(key, "partial", stored.partial, now.partial)


def _links(keys: Iterable[str], view: Snapshot, cold: Snapshot) -> Iterator[Difference]:
    """Yield differences in precomputed links, up to the first node that lacks any."""
    if (links := view.links()) is None:
        return
    fresh: _Links = {}
    for key in keys:
        stored_links = [links.stored(field, key) for field in _FIELDS]
        if None in stored_links:
            return
        fresh = fresh or _fresh_links(cold)
        for field, stored in zip(_FIELDS, stored_links, strict=True):
            edges = sorted(
                fresh[field].get(key, ()),
                key=lambda edge: (edge.kind, TIERS.index(edge.tier), edge.key),
            )
            yield from _different(key, field, stored, tuple(edges))


_FIELDS = ("callers", "callees", "importers", "uses")
_Links = dict[str, dict[str, list[Edge]]]


def _fresh_links(view: Snapshot) -> _Links:
    """Return the links of all nodes by kind and key. Those of each node are computed once."""
    linker = Linker(view)
    found: _Links = {field: {} for field in _FIELDS}
    for key in view.keys():  # noqa: SIM118
        links = linker.links(key)
        found["callees"][key] = list(links.calls)
        backward = (links.calls, links.imports, links.uses)
        for kind, edges in zip(("callers", *_FIELDS[2:]), backward, strict=True):
            for edge in edges:
                back = msgspec.structs.replace(edge, key=key)
                found[kind].setdefault(edge.key, []).append(back)
    return found


def _different(key: str, field: str, stored: Any, cold: Any) -> Iterator[Difference]:
    if stored != cold:
        yield Difference(key, field, msgspec.to_builtins(stored), msgspec.to_builtins(cold))
