"""Nodes of a Python file, which are its functions, its classes and the module itself."""

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Mapping
from functools import cached_property
from itertools import takewhile
from typing import Literal

import msgspec

from remora.errors import NotFound
from remora.ids import NodeKey, escape_path

SUMMARY_LIMIT = 300


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A function, a class or a module in a file.

    Lines count from 1 and include decorators. An empty module has lines 1 to 0. Hashes are SHA-256.
    """

    key: NodeKey
    path: str
    """The real path, which `key` contains in escaped form."""
    qualname: str
    node_type: Literal["function", "class", "module"]
    signature: str | None
    docstring: str | None
    docstring_outdated: bool
    decorators: tuple[str, ...]
    line_start: int
    line_end: int
    line_count: int
    source_hash: str
    """Hash of the node's raw lines without the last newline."""
    body_hash: str
    """Hash of the dedented body without the docstring. It stays if the node is renamed or moved."""
    parent: NodeKey | None
    """Key of the enclosing node, or None for a module."""
    skip: bool
    """True if the node or an enclosing node has a skip comment."""


class Module(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A file without syntax errors. `nodes` are in source order and start with the module."""

    path: str
    key: NodeKey
    nodes: tuple[Node, ...]
    file_hash: str
    line_count: int
    encoding: str

    @cached_property
    def by_key(self) -> Mapping[str, Node]:
        return {node.key: node for node in self.nodes}


def find_node(module: Module, key: str) -> Node | None:
    return module.by_key.get(key)


def own_lines(
    module: Module, key: NodeKey, known: Container[NodeKey] | None = None
) -> frozenset[int]:
    """Return the lines of node `key`, excluding the lines of its nested nodes.

    If `known` is given, only nested nodes in `known` are excluded. Raises NotFound if the module
    does not contain the node.
    """
    if (node := find_node(module, key)) is None:
        raise NotFound(f"{module.path} has no node {key}")
    lines = set(range(node.line_start, node.line_end + 1))
    first = bisect_left(module.nodes, node.line_start, key=lambda inner: inner.line_start)
    inside = takewhile(lambda inner: inner.line_start <= node.line_end, module.nodes[first:])
    for inner in inside:
        if inner.parent == key and (known is None or inner.key in known):
            lines.difference_update(range(inner.line_start, inner.line_end + 1))
    return frozenset(lines)


def lines_of_nodes(
    module: Module, keys: Iterable[str], known: Container[NodeKey] | None = None
) -> frozenset[int]:
    """Return the lines of several nodes, each without its nested nodes, or all lines without keys.

    Nodes that the module does not contain are ignored. `known` is the same as for `own_lines`.
    """
    wanted = tuple(map(NodeKey, keys))
    if not wanted:
        return frozenset(range(1, module.line_count + 1))
    found = (own_lines(module, key, known) for key in wanted if find_node(module, key) is not None)
    return frozenset[int]().union(*found)


def node_at_line(module: Module, line: int) -> NodeKey:
    """Return the key of the innermost node whose span contains `line`.

    If there is no such node, return the module's key.
    """
    before = bisect_right(module.nodes, line, key=lambda node: node.line_start)
    # outer nodes come first in source order, so the first match from the end is the innermost
    for node in reversed(module.nodes[:before]):
        if line <= node.line_end:
            return node.key
    return module.key


def node_summary(node: Node) -> str:
    """Return the signature, first docstring line and line count in at most 300 characters."""
    count = f" ({node.line_count} line{'' if node.line_count == 1 else 's'})"
    text = node.signature or f"module {escape_path(node.path)}"
    if node.docstring:
        text += f": {node.docstring}"
    limit = SUMMARY_LIMIT - len(count)
    return (text if len(text) <= limit else text[: limit - 1] + "…") + count
