"""Newer syntax, rewritten for a Python that cannot parse it.

Example: `def first[T](values: list[T]) -> T:` is read as `def first   (values: list[T]) -> T:`. Each
replacement has the length of what it replaces, so that all positions remain. Type parameters and
the text of some f-strings are lost; other names, all calls and annotations remain.

| newer | read as | since |
|---|---|---|
| `def f[T](x: T)`, `class A[T]` | `def f   (x: T)`, `class A   ` | 3.12 |
| `type A[T] = list[T]` | `0  ; A    = list[T]` | 3.12 |
| `f"a {names["b"]!r:>{x}}"` | `[    names["b"]    ,x ,]` | 3.12 |
| `t"{name}"` | `f"{name}"` | 3.14 |
| `except A, B:` | `except A| B:` | 3.14 |
| `[*row for row in rows]` | `[ row for row in rows]` | 3.15 |
| `lazy import json` | `0  ; import json` | 3.15 |
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from tree_sitter import Node

_Replacement = tuple[Node, bytes]
"""A node, and the bytes that replace the first of its own."""

_PARAMETERS = "type_parameter"
_STATEMENT = b"0  ;"
"""Statement in place of the soft keywords `type` and `lazy`."""
_PARTS = frozenset(("string_start", "string_content", "interpolation", "string_end"))
_ITEM_MARKS = {"{": b" ", "}": b",", "=": b" ", "type_conversion": b" "}
"""What replaces the parts of `{x=!r}` in a list."""
_BEFORE_LINE_END = re.compile(rb"[^\n](?=\n)")
_NOT_LINE_END = re.compile(rb"[^\n]")


def in_older_syntax(utf8: bytes, root: Node, minor: int = sys.version_info.minor) -> bytes:
    """Return the text without the syntax of the table that Python 3.`minor` does not have.

    `root` is the tree of the text.
    """
    rules = {kind: rule.find for kind, rule in _RULES.items() if rule.since > minor}
    nodes = (node for node in _descendants(root) if node.type in rules)
    text, found = bytearray(utf8), [part for node in nodes for part in rules[node.type](node)]
    for place, new in reversed(found):  # what surrounds others last
        text[place.start_byte : place.start_byte + len(new)] = new
    return bytes(text)


def _descendants(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending += node.children


def _without_parameters(node: Node) -> Iterator[_Replacement]:
    yield from ((part, _blank(part)) for part in node.children if part.type == _PARAMETERS)


def _as_assignment(node: Node) -> Iterator[_Replacement]:
    yield node.children[0], _STATEMENT
    for part in (part for name in node.children[1:2] for part in name.children):
        yield from ((inner, _blank(inner)) for inner in part.children[1:])


def _as_union(node: Node) -> Iterator[_Replacement]:
    yield from ((part, b"|") for part in node.children if part.type == ",")


def _without_star(node: Node) -> Iterator[_Replacement]:
    siblings = node.parent.children if node.parent is not None else ()
    if any(sibling.type == "for_in_clause" for sibling in siblings):
        yield node.children[0], b" "


def _as_eager(node: Node) -> Iterator[_Replacement]:
    if node.text == b"lazy":
        yield node, _STATEMENT


def _as_f_string(node: Node) -> Iterator[_Replacement]:
    yield node, (node.text or b"").replace(b"t", b"f").replace(b"T", b"F")


def _as_list(node: Node) -> Iterator[_Replacement]:
    """Make a list of an f-string whose expressions have quotes, backslashes, comments or lines."""
    parts = [part for string in (node, *node.children) for part in string.children]
    parts = [part for part in parts if part.type in _PARTS]
    quotes = {(part.text or b"")[-1:] for part in parts if part.type == "string_start"}
    inside = b"".join(part.text or b"" for part in parts if part.type == "interpolation")
    is_part = node.parent is not None and node.parent.type == "concatenated_string"
    if is_part or not any(mark in inside for mark in (b"\\", b"#", b"\n", *quotes)):
        return
    for part in parts:
        mark = b"[" if part is parts[0] else b"]" if part is parts[-1] else b""
        if part.type != "interpolation":
            yield part, mark + _NOT_LINE_END.sub(b" ", part.text or b"")[len(mark) :]
        for inner in part.children if part.type == "interpolation" else ():
            if inner.type in _ITEM_MARKS:
                yield inner, _ITEM_MARKS[inner.type].ljust(len(inner.text or b""))
            elif inner.type == "format_specifier":
                yield from _as_items(inner)


def _as_items(specifier: Node) -> Iterator[_Replacement]:
    """Make further items of the expressions in `:>{width}`."""
    expressions = specifier.children[1:]
    stops = [*(part.start_byte for part in expressions), specifier.end_byte]
    yield specifier, b" " * (stops[0] - specifier.start_byte)
    for part, stop in zip(expressions, stops[1:], strict=True):
        yield part.children[0], b","
        yield part.children[-1], b" " * (stop - part.end_byte + 1)


class _Rule(NamedTuple):
    since: int
    """The minor version of the first Python that has the syntax."""
    find: Callable[[Node], Iterator[_Replacement]]
    """Returns the replacements at a node."""


_RULES: Mapping[str, _Rule] = {
    "function_definition": _Rule(12, _without_parameters),
    "class_definition": _Rule(12, _without_parameters),
    "type_alias_statement": _Rule(12, _as_assignment),
    "string": _Rule(12, _as_list),
    "concatenated_string": _Rule(12, _as_list),
    "string_start": _Rule(14, _as_f_string),
    "except_clause": _Rule(14, _as_union),
    "list_splat": _Rule(15, _without_star),
    "ERROR": _Rule(15, _as_eager),
}
"""The rules, by the type of the node."""


def _blank(node: Node) -> bytes:
    """Return as many spaces as the node has bytes. Backslashes continue its lines."""
    return _BEFORE_LINE_END.sub(b"\\\\", _NOT_LINE_END.sub(b" ", node.text or b""))
