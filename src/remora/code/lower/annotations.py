"""Annotations to terms: what kind of value they promise."""

import ast
import re
from typing import Any

from remora.code.lowered import ATTRIBUTE, EITHER, GENERIC

_DEEPEST = 12
_LONGEST = 300
# what a type is written with; nothing in it can make the parser warn
_PLAIN = re.compile(r"(?!.*\b\d+[A-Za-z_])[\w\s.,|\[\]\"']+", re.ASCII)


def annotation_term(node: ast.expr, names: set[str], depth: int = 0) -> Any:
    """A name, an attribute, alternatives, or a generic; null for anything else."""
    if depth > _DEEPEST:
        return None
    term: Any = None
    match node:
        case ast.Name(id=name):
            names.add(name)
            term = name
        case ast.Attribute(value=base, attr=name):
            names.add(name)
            term = (ATTRIBUTE, annotation_term(base, names, depth + 1), name)
        case ast.Constant(value=str(text)):
            term = _quoted(text, names, depth)
        case ast.Subscript(value=base, slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            terms = [annotation_term(part, names, depth + 1) for part in parts[:8]]
            term = (GENERIC, annotation_term(base, names, depth + 1), *terms)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            sides = [annotation_term(side, names, depth + 1) for side in (left, right)]
            term = (EITHER, *[side for side in sides if side is not None])
    return term


def _quoted(text: str, names: set[str], depth: int) -> Any:
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
