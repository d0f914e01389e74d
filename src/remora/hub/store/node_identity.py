"""Matching of new nodes with old nodes after renames and moves.

This module does not access the database.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from remora.ids import MODULE, node_key, split_node_key

Others = Callable[[frozenset[str]], Mapping[str, int]]
"""Returns the number of project nodes per body, without the nodes being matched."""


class Identity(NamedTuple):
    """An old node with its uid."""

    uid: str
    key: str
    node_type: str
    body_hash: str


class NewNode(NamedTuple):
    """A new node that has no uid yet."""

    key: str
    node_type: str
    body_hash: str


def follow(old: Iterable[Identity], new: Iterable[NewNode], others: Others) -> dict[str, Identity]:
    """Match new nodes with the old nodes that they continue.

    Returns the old nodes, keyed by the key of the new node. Each old node is used at most once.

    Matches are tried in this order: the same key and body, the same body elsewhere, the same key,
    and the same name in a file to which another node moved. If several nodes share a body, they
    match only if their names are equal. A node that keeps its key does not take the identity of
    another node that keeps its key.
    """
    match = _Match(old, new)
    match.same_key(same_body=True)
    match.bodies(others)
    match.same_key(same_body=False)
    match.moved_files()
    return match.found


class _Match:
    def __init__(self, old: Iterable[Identity], new: Iterable[NewNode]) -> None:
        self.found: dict[str, Identity] = {}
        self._old = {node.key: node for node in old}
        self._new = {node.key: node for node in new}
        self._staying = self._old.keys() & self._new.keys()

    def same_key(self, *, same_body: bool) -> None:
        for key in sorted(self._old.keys() & self._new.keys()):
            old, new = self._old[key], self._new[key]
            if old.node_type == new.node_type and (not same_body or old.body_hash == new.body_hash):
                self._match(new, old)

    def bodies(self, others: Others) -> None:
        groups = self._groups()
        for olds, news in groups.values():
            for new, old in _by_name(olds, news):
                self._take_unless_both_stay(new, old)
        unique: dict[str, tuple[NewNode, Identity]] = {}
        for body, (olds, news) in groups.items():
            left = [old for old in olds if old.key in self._old]
            free = [new for new in news if new.key in self._new]
            if len(left) == len(free) == 1 and left[0].node_type == free[0].node_type:
                unique[body] = free[0], left[0]
        counts = others(frozenset(unique)) if unique else {}
        for body, (new, old) in unique.items():
            if not counts.get(body):
                self._take_unless_both_stay(new, old)

    def moved_files(self) -> None:
        """Match nodes that were moved with their file and also edited."""
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for key, old in self.found.items():
            before, now = split_node_key(old.key)[0], split_node_key(key)[0]
            if before != now:
                votes[now][before] += 1
        for key in sorted(self._new):
            path, qualname = split_node_key(key)
            if path not in votes:
                continue
            before = min(votes[path].items(), key=lambda vote: (-vote[1], vote[0]))[0]
            candidate = self._old.get(node_key(before, qualname))
            if candidate is not None and candidate.node_type == self._new[key].node_type:
                self._match(self._new[key], candidate)

    def _groups(self) -> dict[str, tuple[list[Identity], list[NewNode]]]:
        """Group the unmatched old and new nodes by body."""
        groups: dict[str, tuple[list[Identity], list[NewNode]]] = {}
        for new in self._new.values():
            groups.setdefault(new.body_hash, ([], []))[1].append(new)
        for old in self._old.values():
            if old.body_hash in groups:
                groups[old.body_hash][0].append(old)
        return {body: group for body, group in groups.items() if group[0]}

    def _take_unless_both_stay(self, new: NewNode, old: Identity) -> None:
        if not (new.key in self._staying and old.key in self._staying):
            self._match(new, old)

    def _match(self, new: NewNode, old: Identity) -> None:
        self.found[new.key] = old
        del self._new[new.key], self._old[old.key]


def _by_name(olds: list[Identity], news: list[NewNode]) -> Iterator[tuple[NewNode, Identity]]:
    """Yield pairs of nodes with the same name and kind, in the order of their reversed keys."""
    named: dict[tuple[str, str], tuple[list[Identity], list[NewNode]]] = {}
    for new in news:
        named.setdefault((_name(new.key), new.node_type), ([], []))[1].append(new)
    for old in olds:
        if (group := named.get((_name(old.key), old.node_type))) is not None:
            group[0].append(old)
    for these, those in named.values():
        # by the ends of their keys: comparing all pairs of a large group would take too long
        yield from zip(sorted(those, key=_from_end), sorted(these, key=_from_end), strict=False)


def _from_end(node: Identity | NewNode) -> str:
    return node.key[::-1]


def _name(key: str) -> str:
    path, qualname = split_node_key(key)
    if qualname == MODULE:
        return path.rpartition("/")[2]
    return qualname.rpartition(".")[2].partition("#")[0]
