"""Attributes, items, operators: expressions that make a value out of others."""

import ast
from collections.abc import Iterable
from typing import Any

from remora.code.ir.lowering.assignment_targets import key
from remora.code.ir.lowering.builder import Builder
from remora.code.ir.lowering.expressions import (
    CONSTANTS,
    expression,
    expressions,
    implicit,
    is_plain,
)
from remora.code.ir.model import ATTRIBUTE, AWAIT, EITHER, ITEM, SLICE, STAR, Read

_NAME, _BINOP = ast.Name, ast.BinOp
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "__add__",
    ast.Sub: "__sub__",
    ast.Mult: "__mul__",
    ast.MatMult: "__matmul__",
    ast.Div: "__truediv__",
    ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__",
    ast.Pow: "__pow__",
    ast.LShift: "__lshift__",
    ast.RShift: "__rshift__",
    ast.BitOr: "__or__",
    ast.BitXor: "__xor__",
    ast.BitAnd: "__and__",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
}
_CONTAINMENT = frozenset((ast.In, ast.NotIn))


def attribute(to: Builder, node: ast.Attribute) -> Any:
    """An attribute that is read."""
    value, name = node.value, node.attr
    add = to.names.add
    add(name)
    if value.__class__ is _NAME:
        base: Any = value.id
        add(base)
    else:
        base = expression(to, value)
    term = (ATTRIBUTE, base, name)
    to.reads.append(Read(to.index, to.at, node.end_lineno or node.lineno, term))
    return term


def subscript(to: Builder, node: ast.Subscript) -> Any:
    """An item or a slice."""
    base = expression(to, node.value)
    inside = node.slice
    if inside.__class__ is ast.Slice:
        expression(to, inside)
        return None if base is None else (SLICE, base)
    constant = key(inside)
    if constant is None:
        expression(to, inside)
    if base is None:
        return None
    implicit(to, base, "__getitem__", node.lineno)
    return (ITEM, base, constant)


def bounds(to: Builder, node: ast.Slice) -> None:
    """What stands between the colons of a slice."""
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            expression(to, part)


def logical(to: Builder, node: ast.BoolOp) -> Any:
    """`and`, `or`: any of them."""
    values = node.values
    to.owner.points += len(values) - 1
    return _either(expressions(to, values))


def conditional(to: Builder, node: ast.IfExp) -> Any:
    """`a if b else c`."""
    to.owner.points += 1
    expression(to, node.test)
    return _either((expression(to, node.body), expression(to, node.orelse)))


def operator(to: Builder, node: ast.BinOp) -> Any:
    """A sum of a thousand parts leans to the left, and is taken part by part."""
    parts = [node]
    left: Any = node.left
    while left.__class__ is _BINOP:
        parts.append(left)
        left = left.left
    term = expression(to, left)
    for part in parts if len(parts) == 1 else reversed(parts):
        right = expression(to, part.right)
        if term is not None:
            term = implicit(to, term, _OPERATORS[part.op.__class__], part.lineno, (right,))
    return term


def unary(to: Builder, node: ast.UnaryOp) -> None:
    """`not`, `-`, `+`, `~`."""
    expression(to, node.operand)


def compare(to: Builder, node: ast.Compare) -> None:
    """`a < b < c`."""
    left = expression(to, node.left)
    operators = node.ops
    for place, comparator in enumerate(node.comparators):
        right = expression(to, comparator)
        kind = operators[place].__class__
        if kind in _COMPARISONS:
            if not (left is None or is_plain(right)):
                implicit(to, left, _COMPARISONS[kind], node.lineno, (right,))
        elif right is not None and kind in _CONTAINMENT:
            implicit(to, right, "__contains__", node.lineno, (left,))
        left = right


def awaited(to: Builder, node: ast.Await) -> Any:
    """`await a`."""
    term = expression(to, node.value)
    return None if term is None else (AWAIT, term)


def starred(to: Builder, node: ast.Starred) -> Any:
    """`*a`."""
    term = expression(to, node.value)
    return None if term is None else (STAR, term)


def text(to: Builder, node: ast.JoinedStr) -> Any:
    """An f-string."""
    expressions(to, node.values)
    return CONSTANTS[str]


def formatted(to: Builder, node: ast.FormattedValue) -> None:
    """What stands in the braces of an f-string."""
    expression(to, node.value)
    if node.format_spec is not None:
        expression(to, node.format_spec)


def _either(terms: Iterable[Any]) -> Any:
    known = [term for term in terms if term is not None]
    if len(known) < 2:
        return known[0] if known else None
    return (EITHER, *known)
