"""Conversion of type annotations to terms."""

import ast
import re
from collections.abc import Callable
from typing import Any

from remora.code.ir.model import ATTRIBUTE, EITHER, GENERIC

_DEEPEST = 12
_LONGEST = 300
_MAX_PARTS = 8
# characters allowed in a quoted type; parsing them cannot cause a warning
_PLAIN = re.compile(r"(?!.*\b\d+[A-Za-z_])[\w\s.,|\[\]\"']+", re.ASCII)


def annotation_term(node: Any, names: set[str], depth: int = 0) -> Any:
    """Return the term of a name, attribute, union or generic, or None for any other annotation."""
    if node.__class__ is ast.Name:
        names.add(node.id)
        return node.id
    handler = _HANDLERS.get(node.__class__)
    return None if handler is None or depth > _DEEPEST else handler(node, names, depth + 1)


def _attribute(node: ast.Attribute, names: set[str], depth: int) -> Any:
    names.add(node.attr)
    return (ATTRIBUTE, annotation_term(node.value, names, depth), node.attr)


def _constant(node: ast.Constant, names: set[str], depth: int) -> Any:
    return _quoted_annotation(node.value, names, depth - 1) if isinstance(node.value, str) else None


def _generic(node: ast.Subscript, names: set[str], depth: int) -> Any:
    base, inner = annotation_term(node.value, names, depth), node.slice
    if inner.__class__ is not ast.Tuple:
        return (GENERIC, base, annotation_term(inner, names, depth))
    return (
        GENERIC,
        base,
        *[annotation_term(part, names, depth) for part in inner.elts[:_MAX_PARTS]],
    )


def _union(node: ast.BinOp, names: set[str], depth: int) -> Any:
    if node.op.__class__ is not ast.BitOr:
        return None
    left = annotation_term(node.left, names, depth)
    right = annotation_term(node.right, names, depth)
    if left is None or right is None:
        return (EITHER,) if left is right else (EITHER, right if left is None else left)
    return (EITHER, left, right)


def _quoted_annotation(text: str, names: set[str], depth: int) -> Any:
    text = text.strip()
    if text.isidentifier():
        names.add(text)
        return text
    if len(text) > _LONGEST or not _PLAIN.fullmatch(text):
        return None
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return annotation_term(node, names, depth + 1)


_HANDLERS: dict[type[ast.AST], Callable[[Any, set[str], int], Any]] = {
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.Subscript: _generic,
    ast.BinOp: _union,
}
