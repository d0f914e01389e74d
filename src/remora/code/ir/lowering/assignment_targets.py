"""Lowering of assignment targets, including attributes, items and unpacking."""

import ast
from collections.abc import Sequence
from typing import Any

from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.expressions import lower_expression, record_implicit_call
from remora.code.ir.model import ITEM, VALUE, AttributeWrite, ContainerWrite
from remora.text import is_utf8

_NAME, _CONSTANT = ast.Name, ast.Constant
_KEY_LIMIT = 2**31


def assign_target(builder: IRBuilder, target: Any, term: Any) -> None:
    if (kind := target.__class__) is _NAME:
        builder.bind(target.id, VALUE, term)
    elif kind is ast.Attribute:
        write_attribute(builder, target.value, target.attr, term)
    elif kind is ast.Subscript:
        _write_item(builder, target, term)
    elif kind is ast.Starred:
        assign_target(builder, target.value, None)
    else:
        _unpack(builder, target.elts, term)


def write_attribute(
    builder: IRBuilder, base: ast.expr, name: str, term: Any, annotation: Any = None
) -> None:
    owner = lower_expression(builder, base)
    builder.names.add(name)
    if owner != "self":
        builder.names.add(f"set {name}")
    builder.stores.append(
        AttributeWrite(
            builder.scope_index, builder.statement, base.lineno, owner, name, term, annotation
        )
    )


def constant_key(node: ast.expr) -> Any:
    """Return the value of a constant key (a string or small integer), or None for other keys."""
    if node.__class__ is _CONSTANT:
        value = node.value
        if value.__class__ is str:
            return value if is_utf8(value) else None
        return value if value.__class__ is int and -_KEY_LIMIT < value < _KEY_LIMIT else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return -1 if node.operand.value == 1 else None
    return None


def lower_named_expression(builder: IRBuilder, node: ast.NamedExpr) -> Any:
    """Lower `a := b`. In a comprehension, the name is bound in the enclosing function."""
    term = lower_expression(builder, node.value)
    inside = builder.scope
    builder.enter(inside.enclosing_function)
    builder.bind(node.target.id, VALUE, term)
    builder.enter(inside)
    return term


def _unpack(builder: IRBuilder, targets: Sequence[ast.expr], term: Any) -> None:
    known = term is not None
    for index, target in enumerate(targets):
        if target.__class__ is ast.Starred:
            known = False
        assign_target(builder, target, (ITEM, term, index) if known else None)


def _write_item(builder: IRBuilder, target: ast.Subscript, term: Any) -> None:
    base = lower_expression(builder, target.value)
    if (constant := constant_key(target.slice)) is None:
        lower_expression(builder, target.slice)
    if base is not None:
        builder.fills.append(
            ContainerWrite(builder.scope_index, builder.statement, base, constant, term)
        )
        record_implicit_call(builder, base, "__setitem__", target.lineno, (None, term))
