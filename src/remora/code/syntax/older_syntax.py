"""Newer syntax, rewritten for a Python that cannot parse it.

Example: `def first[T](values: list[T]) -> T:` is read as `def first   (values: list[T]) -> T:`. Each
replacement has the length of what it replaces, so that all positions remain. Type parameters and
texts of inner strings get lost; names, calls and annotations remain.

| newer | read as | since |
|---|---|---|
| `def f[T](x: T)`, `class A[T]` | `def f   (x: T)`, `class A   ` | 3.12 |
| `type A[T] = list[T]` | `0  ; A    = list[T]` | 3.12 |
| `f"{names["first"]}"` | `f"{names[0000000]}"` | 3.12 |
| `t"{name}"` | `f"{name}"` | 3.14 |
| `except A, B:` | `except A| B:` | 3.14 |
| `[*row for row in rows]` | `[ row for row in rows]` | 3.15 |
| `lazy import json` | `0  ; import json` | 3.15 |
"""

from collections.abc import Callable, Iterator, Mapping

from tree_sitter import Node

_Replacement = tuple[Node, bytes]
"""A node, and the bytes that replace the first of its own."""

_PARAMETERS = "type_parameter"
_STATEMENT = b"0  ;"
"""Statement in place of the soft keywords `type` and `lazy`."""
_NEWLINE = ord("\n")


def in_older_syntax(utf8: bytes, root: Node) -> bytes:
    """Return the text with the syntax of the table replaced. `root` is its tree."""
    text = bytearray(utf8)
    found = [
        part
        for node in _descendants(root)
        if node.type in _RULES
        for part in _RULES[node.type](node)
    ]
    for place, new in reversed(found):  # outer strings last
        text[place.start_byte : place.start_byte + len(new)] = new
    return bytes(text)


def _descendants(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending += node.children


def _definition(node: Node) -> Iterator[_Replacement]:
    yield from ((part, _filled(part, " ")) for part in node.children if part.type == _PARAMETERS)


def _alias(node: Node) -> Iterator[_Replacement]:
    yield node.children[0], _STATEMENT
    for part in (part for name in node.children[1:2] for part in name.children):
        yield from ((inner, _filled(inner, " ")) for inner in part.children[1:])


def _except(node: Node) -> Iterator[_Replacement]:
    yield from ((part, b"|") for part in node.children if part.type == ",")


def _splat(node: Node) -> Iterator[_Replacement]:
    siblings = node.parent.children if node.parent is not None else ()
    if any(sibling.type == "for_in_clause" for sibling in siblings):
        yield node.children[0], b" "


def _lazy(node: Node) -> Iterator[_Replacement]:
    if node.text == b"lazy":
        yield node, _STATEMENT


def _template(node: Node) -> Iterator[_Replacement]:
    yield node, (node.text or b"").replace(b"t", b"f").replace(b"T", b"F")


def _inner_strings(node: Node) -> Iterator[_Replacement]:
    strings = (inner for inner in _descendants(node) if inner.type == "string")
    yield from ((string, _filled(string, "0")) for string in strings)


_RULES: Mapping[str, Callable[[Node], Iterator[_Replacement]]] = {
    "function_definition": _definition,
    "class_definition": _definition,
    "type_alias_statement": _alias,
    "except_clause": _except,
    "list_splat": _splat,
    "ERROR": _lazy,
    "string_start": _template,
    "interpolation": _inner_strings,
}
"""What yields the replacements, by the type of a node."""


def _filled(node: Node, character: str) -> bytes:
    """Return as many times the character as the node has bytes, and its line ends."""
    return bytes(byte if byte == _NEWLINE else ord(character) for byte in node.text or b"")
