"""What an assignment, a loop or a `with` gives a value: names, attributes, items."""

import ast
from collections.abc import Sequence
from typing import Any

from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.expressions import lower_expression, record_implicit_call
from remora.code.ir.model import ITEM, VALUE, AttributeWrite, ContainerWrite

_NAME, _CONSTANT = ast.Name, ast.Constant
_SMALL = 2**31


def assign_target(to: IRBuilder, target: Any, term: Any) -> None:
    """`target = …`, of which the `term` is already known."""
    kind = target.__class__
    if kind is _NAME:
        to.bind(target.id, VALUE, term)
    elif kind is ast.Attribute:
        write_attribute(to, target.value, target.attr, term)
    elif kind is ast.Subscript:
        _fill_item(to, target, term)
    elif kind is ast.Starred:
        assign_target(to, target.value, None)
    else:
        _unpack(to, target.elts, term)


def write_attribute(
    to: IRBuilder, base: ast.expr, name: str, term: Any, annotation: Any = None
) -> None:
    """`base.name = term`."""
    owner = lower_expression(to, base)
    to.names.add(name)
    if owner != "self":
        to.names.add(f"set {name}")
    to.stores.append(AttributeWrite(to.index, to.at, base.lineno, owner, name, term, annotation))


def constant_key(node: ast.expr) -> Any:
    """A constant key; null for any other."""
    if node.__class__ is _CONSTANT:
        value = node.value
        if value.__class__ is str:
            return value
        return value if value.__class__ is int and -_SMALL < value < _SMALL else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return -1 if node.operand.value == 1 else None
    return None


def _unpack(to: IRBuilder, targets: Sequence[ast.expr], term: Any) -> None:
    known = term is not None
    for index, target in enumerate(targets):
        if target.__class__ is ast.Starred:
            known = False
        assign_target(to, target, (ITEM, term, index) if known else None)


def _fill_item(to: IRBuilder, target: ast.Subscript, term: Any) -> None:
    base = lower_expression(to, target.value)
    constant = constant_key(target.slice)
    if constant is None:
        lower_expression(to, target.slice)
    if base is not None:
        to.fills.append(ContainerWrite(to.index, to.at, base, constant, term))
        record_implicit_call(to, base, "__setitem__", target.lineno, (None, term))
