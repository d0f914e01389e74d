"""Folders, files and nodes of a project as a tree, in which small parts are joined."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from remora.ids import MODULE, node_key

Debt = Literal["findings", "unannotated", "undocumented", "untested"]
DEBTS: tuple[Debt, ...] = ("findings", "unannotated", "undocumented", "untested")
"""What a node can lack: a clean linter, annotations, a docstring, and a test that reaches it."""


class MapNode(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function, a class or a module. `path` is escaped as in node keys."""

    path: str
    qualname: str
    lines: int
    debts: frozenset[Debt]

    @property
    def key(self) -> str:
        return node_key(self.path, self.qualname)


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """One node, or several small parts that are joined. `size` is its own number of lines.

    `debts` counts the nodes that have each debt.
    """

    name: str
    size: int
    nodes: tuple[MapNode, ...]
    debts: Mapping[Debt, int]

    @property
    def level(self) -> int:
        """The average number of debts of its nodes, from 0 to 4."""
        return int(sum(self.debts.values()) / len(self.nodes) + 0.5)


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A folder or a file. Its parts are in descending order of their size."""

    name: str
    path: str
    size: int
    parts: "tuple[Branch | Leaf, ...]"


def project_tree(nodes: Iterable[MapNode]) -> Branch:
    """Return the tree of a project. Folders with only one part are joined with it."""
    files: dict[str, list[MapNode]] = {}
    for node in nodes:
        files.setdefault(node.path, []).append(node)
    return _folder("", [_file(path, inside) for path, inside in files.items()])


def joined_small(branch: Branch, least: float) -> Branch:
    """Return the tree with all parts of a branch that are smaller than `least` joined to one."""
    large = [part for part in branch.parts if part.size >= least]
    small = [part for part in branch.parts if part.size < least]
    parts = [joined_small(part, least) if isinstance(part, Branch) else part for part in large]
    if len(small) == 1 and isinstance(small[0], Leaf):
        parts += small
    elif small:
        parts.append(_joined(small))
    return _branch(branch.name, branch.path, parts)


def leaves_of(branch: Branch) -> Iterator[Leaf]:
    """Yield all leaves of a tree."""
    for part in branch.parts:
        if isinstance(part, Branch):
            yield from leaves_of(part)
        else:
            yield part


def own_lines(nodes: Sequence[MapNode]) -> list[int]:
    """Return the lines of each node of a file without those of the nodes inside it."""
    places = {node.qualname: place for place, node in enumerate(nodes)}
    own = [node.lines for node in nodes]
    for node in nodes:
        above = None if node.qualname == MODULE else _above(node.qualname, places)
        if above is not None:
            own[places[above]] -= node.lines
    return own


def _above(qualname: str, known: Collection[str]) -> str | None:
    """Return the nearest enclosing node."""
    while "." in qualname:
        qualname = qualname.rpartition(".")[0]
        if qualname in known:
            return qualname
    return MODULE if MODULE in known else None


def _file(path: str, nodes: Sequence[MapNode]) -> Branch:
    leaves = [
        Leaf(
            name="module" if node.qualname == MODULE else node.qualname,
            size=max(lines, 1),
            nodes=(node,),
            debts=Counter(node.debts),
        )
        for node, lines in zip(nodes, own_lines(nodes), strict=True)
    ]
    return _branch(path.rpartition("/")[2], path, leaves)


def _folder(path: str, files: Sequence[Branch]) -> Branch:
    """Return the folder that contains the files, without folders that have only one part."""
    start = len(path) + 1 if path else 0
    inside: dict[str, list[Branch]] = {}
    parts: list[Branch] = []
    for file in files:
        name, slash, _ = file.path[start:].partition("/")
        if slash:
            inside.setdefault(f"{path}/{name}" if path else name, []).append(file)
        else:
            parts.append(file)
    parts += [_folder(below, found) for below, found in inside.items()]
    name = path.rpartition("/")[2]
    if len(parts) == 1:
        only = parts[0]
        return _branch(f"{name}/{only.name}" if name else only.name, only.path, only.parts)
    return _branch(name, path, parts)


def _branch(name: str, path: str, parts: Iterable[Branch | Leaf]) -> Branch:
    ordered = tuple(sorted(parts, key=lambda part: -part.size))
    return Branch(name=name, path=path, size=sum(part.size for part in ordered), parts=ordered)


def _joined(parts: Sequence[Branch | Leaf]) -> Leaf:
    leaves = [
        leaf
        for part in parts
        for leaf in (leaves_of(part) if isinstance(part, Branch) else (part,))
    ]
    debts: Counter[Debt] = Counter()
    for leaf in leaves:
        debts.update(leaf.debts)
    nodes = tuple(node for leaf in leaves for node in leaf.nodes)
    size = sum(leaf.size for leaf in leaves)
    return Leaf(name=f"{len(nodes)} more", size=size, nodes=nodes, debts=debts)
