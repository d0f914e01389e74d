"""Attributes, items, operators: expressions that make a value out of others."""

import ast
from collections.abc import Iterable
from typing import Any

from remora.code.ir.lowering.assignment_targets import constant_key
from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.expressions import (
    CONSTANT_TERMS,
    is_unknown_or_constant,
    lower_expression,
    lower_expressions,
    record_implicit_call,
)
from remora.code.ir.model import ATTRIBUTE, AWAIT, EITHER, ITEM, SLICE, STAR, AttributeRead

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


def lower_attribute(to: IRBuilder, node: ast.Attribute) -> Any:
    """An attribute that is read."""
    value, name = node.value, node.attr
    add = to.names.add
    add(name)
    if value.__class__ is _NAME:
        base: Any = value.id
        add(base)
    else:
        base = lower_expression(to, value)
    term = (ATTRIBUTE, base, name)
    to.reads.append(AttributeRead(to.index, to.at, node.end_lineno or node.lineno, term))
    return term


def lower_subscript(to: IRBuilder, node: ast.Subscript) -> Any:
    """An item or a slice."""
    base = lower_expression(to, node.value)
    inside = node.slice
    if inside.__class__ is ast.Slice:
        lower_expression(to, inside)
        return None if base is None else (SLICE, base)
    constant = constant_key(inside)
    if constant is None:
        lower_expression(to, inside)
    if base is None:
        return None
    record_implicit_call(to, base, "__getitem__", node.lineno)
    return (ITEM, base, constant)


def lower_slice(to: IRBuilder, node: ast.Slice) -> None:
    """What stands between the colons of a slice."""
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            lower_expression(to, part)


def lower_boolean(to: IRBuilder, node: ast.BoolOp) -> Any:
    """`and`, `or`: any of them."""
    values = node.values
    to.owner.points += len(values) - 1
    return _either(lower_expressions(to, values))


def lower_conditional(to: IRBuilder, node: ast.IfExp) -> Any:
    """`a if b else c`."""
    to.owner.points += 1
    lower_expression(to, node.test)
    return _either((lower_expression(to, node.body), lower_expression(to, node.orelse)))


def lower_binary(to: IRBuilder, node: ast.BinOp) -> Any:
    """A sum of a thousand parts leans to the left, and is taken part by part."""
    parts = [node]
    left: Any = node.left
    while left.__class__ is _BINOP:
        parts.append(left)
        left = left.left
    term = lower_expression(to, left)
    for part in parts if len(parts) == 1 else reversed(parts):
        right = lower_expression(to, part.right)
        if term is not None:
            term = record_implicit_call(
                to, term, _OPERATORS[part.op.__class__], part.lineno, (right,)
            )
    return term


def lower_unary(to: IRBuilder, node: ast.UnaryOp) -> None:
    """`not`, `-`, `+`, `~`."""
    lower_expression(to, node.operand)


def lower_comparison(to: IRBuilder, node: ast.Compare) -> None:
    """`a < b < c`."""
    left = lower_expression(to, node.left)
    operators = node.ops
    for place, comparator in enumerate(node.comparators):
        right = lower_expression(to, comparator)
        kind = operators[place].__class__
        if kind in _COMPARISONS:
            if not (left is None or is_unknown_or_constant(right)):
                record_implicit_call(to, left, _COMPARISONS[kind], node.lineno, (right,))
        elif right is not None and kind in _CONTAINMENT:
            record_implicit_call(to, right, "__contains__", node.lineno, (left,))
        left = right


def lower_await(to: IRBuilder, node: ast.Await) -> Any:
    """`await a`."""
    term = lower_expression(to, node.value)
    return None if term is None else (AWAIT, term)


def lower_starred(to: IRBuilder, node: ast.Starred) -> Any:
    """`*a`."""
    term = lower_expression(to, node.value)
    return None if term is None else (STAR, term)


def lower_f_string(to: IRBuilder, node: ast.JoinedStr) -> Any:
    """An f-string."""
    lower_expressions(to, node.values)
    return CONSTANT_TERMS[str]


def lower_f_string_field(to: IRBuilder, node: ast.FormattedValue) -> None:
    """What stands in the braces of an f-string."""
    lower_expression(to, node.value)
    if node.format_spec is not None:
        lower_expression(to, node.format_spec)


def _either(terms: Iterable[Any]) -> Any:
    known = [term for term in terms if term is not None]
    if len(known) < 2:
        return known[0] if known else None
    return (EITHER, *known)
