"""Nodes of a Python file as records: its functions and classes, and the module itself."""

from bisect import bisect_right
from collections.abc import Container
from typing import Literal

import msgspec

from remora.errors import NotFound
from remora.ids import NodeKey, spell_path

SUMMARY_LIMIT = 300


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A function, a class or a module of one file.

    `path` is the raw one, `key` holds it spelled. Lines count from 1; the span goes from the first
    decorator to the last line (an empty module has none: 1 to 0). Hashes are SHA-256:
    `source_hash` of the span's raw lines without the last newline, `body_hash` of the body without
    docstring as UTF-8, moved to the left margin, so that it survives a rename and a move.
    `docstring_outdated`: it surely documents what the code does not have. `parent` is null for modules. `skip`: the user wants this node, or one around it, left alone.
    """

    key: NodeKey
    path: str
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
    body_hash: str
    parent: NodeKey | None
    skip: bool


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A file that parsed. `nodes` are in source order, the module's own first."""

    path: str
    key: NodeKey
    nodes: tuple[Node, ...]
    file_hash: str
    line_count: int
    encoding: str


def find_node(module: Module, key: str) -> Node | None:
    """The module's node with that key."""
    return next((node for node in module.nodes if node.key == key), None)


def own_lines(
    module: Module, key: NodeKey, known: Container[NodeKey] | None = None
) -> frozenset[int]:
    """Lines of the node's span that belong to no node nested in it. With `known`, nested nodes
    that are not in it are the node's own: whoever wrote the node wrote them. Raises NotFound."""
    node = find_node(module, key)
    if node is None:
        raise NotFound(f"{module.path} has no node {key}")
    lines = set(range(node.line_start, node.line_end + 1))
    for inner in module.nodes:
        if inner.parent == key and (known is None or inner.key in known):
            lines.difference_update(range(inner.line_start, inner.line_end + 1))
    return frozenset(lines)


def node_at_line(module: Module, line: int) -> NodeKey:
    """Key of the innermost node whose span holds `line`; the module's for any other line."""
    before = bisect_right(module.nodes, line, key=lambda node: node.line_start)
    # source order puts outer nodes first, so the first that reaches `line` is the innermost
    for node in reversed(module.nodes[:before]):
        if line <= node.line_end:
            return node.key
    return module.key


def node_summary(node: Node) -> str:
    """Signature, first docstring line and line count in at most 300 characters."""
    count = f" ({node.line_count} line{'' if node.line_count == 1 else 's'})"
    text = node.signature or f"module {spell_path(node.path)}"
    if node.docstring:
        text += f": {node.docstring}"
    room = SUMMARY_LIMIT - len(count)
    return (text if len(text) <= room else text[: room - 1] + "…") + count
