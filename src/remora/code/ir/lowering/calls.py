"""Lowering of calls, including calls that write to containers or attributes."""

import ast
from collections.abc import Sequence
from typing import Any

from remora.code.ir import model as ir
from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.expressions import (
    is_text,
    lower_expression,
    lower_expressions,
    prefix_term,
)
from remora.code.ir.model import ATTRIBUTE, ELEMENT, AttributeWrite, Call, ContainerWrite

_CONSTANT, _ATTRIBUTE = ast.Constant, ast.Attribute
_ADDED_ARGUMENT = {"append": 0, "appendleft": 0, "add": 0, "put": 0, "insert": 1, "setdefault": 1}
_ADDING_ALL = frozenset(("extend", "update"))
_ADDING = _ADDING_ALL.union(_ADDED_ARGUMENT)
_ATTRIBUTE_FUNCTIONS = frozenset(("getattr", "setattr"))


def lower_call(builder: IRBuilder, node: ast.Call) -> Any:
    """Lower a call and return its number."""
    func: Any = node.func
    if func.__class__ is _ATTRIBUTE:
        return _lower_method_call(builder, node, func)
    callee: Any = lower_expression(builder, func)
    args, keywords = _arguments(builder, node)
    line = node.lineno
    if callee.__class__ is str:
        if callee in _ATTRIBUTE_FUNCTIONS:
            _record_getattr(builder, line, callee, args)
    elif args and callee.__class__ is tuple and callee[0] == ATTRIBUTE:
        _record_added_items(builder, callee, args)
    calls = builder.calls
    calls.append(Call(builder.scope_index, builder.statement, line, callee, args, keywords))
    is_class = len(args) == 3 and (callee == "type" or ir.unqualified_name(callee)[:1].isupper())
    if is_class and ir.has_tag(args[1], ir.CONTAINER) and ir.has_tag(args[2], ir.CONTAINER):
        return (ir.EITHER, len(calls) - 1, _made_class(builder, line, args))
    return len(calls) - 1


def _made_class(builder: IRBuilder, line: int, args: Sequence[Any]) -> Any:
    """Record the class that `type("A", (Base,), {"go": go})` or a metaclass makes: not a node."""
    scope = builder.open_scope(ir.CLASS_SCOPE, "", line)
    bases, table = builder.containers[args[1][1]], builder.containers[args[2][1]]
    scope.bases = bases.items
    for key, term in zip(table.keys or (), table.items, strict=False):
        if isinstance(key, str):
            bind = ir.Binding(ir.VALUE, builder.statement, builder.scope_index, term)
            scope.binds[key] = [bind]
    return (ir.SCOPE, scope.index)


def record_decorator_call(builder: IRBuilder, decorator: Any, line: int, term: Any) -> Any:
    """Record a call that passes `term` to a decorator, and return the term of the result."""
    builder.calls.append(Call(builder.scope_index, builder.statement, line, decorator, (term,)))
    return len(builder.calls) - 1


def record_registration(builder: IRBuilder, register: Any, line: int, term: Any) -> None:
    """Record `@f.register` or `f.register(cls, term)`: `f` is dispatched to the function, too."""
    callee = builder.calls[register].callee if register.__class__ is int else register
    if callee.__class__ is tuple and callee[0] == ATTRIBUTE and callee[2] == "register":
        builder.names.add(f"set {ir.REGISTERED}")
        position = builder.scope_index, builder.statement, line
        builder.stores.append(AttributeWrite(*position, callee[1], ir.REGISTERED, term))


def _lower_method_call(builder: IRBuilder, node: ast.Call, func: ast.Attribute) -> Any:
    name, base = func.attr, func.value
    if name[0] == "_":
        name = builder.mangled(name)
    add = builder.names.add
    add(name)
    owner = lower_expression(builder, base)
    args, keywords = _arguments(builder, node)
    callee = (ATTRIBUTE, owner, name)
    if name in _ADDING and args:
        _record_added_items(builder, callee, args)
    if name == "register" and len(args) > 1:
        record_registration(builder, callee, node.lineno, args[1])
    calls = builder.calls
    line = func.end_lineno or node.lineno
    calls.append(Call(builder.scope_index, builder.statement, line, callee, args, keywords))
    if name == "format" and base.__class__ is _CONSTANT:
        return prefix_term(builder, base, "{")
    return len(calls) - 1


def _arguments(
    builder: IRBuilder, node: ast.Call
) -> tuple[tuple[Any, ...], tuple[tuple[str | None, Any], ...]]:
    args = tuple(lower_expressions(builder, node.args)) if node.args else ()
    if not node.keywords:
        return args, ()
    return args, tuple([(k.arg, lower_expression(builder, k.value)) for k in node.keywords])


def _record_getattr(builder: IRBuilder, line: int, callee: str, args: Sequence[Any]) -> None:
    """Record a `getattr` or `setattr` call with a constant name as an attribute access."""
    if len(args) < 2 or not is_text(args[1]):
        return
    name = args[1][1]
    builder.names.add(name)
    if callee == "setattr" and len(args) > 2:
        builder.names.add(f"set {name}")
        builder.stores.append(
            AttributeWrite(builder.scope_index, builder.statement, line, args[0], name, args[2])
        )


def _record_added_items(builder: IRBuilder, callee: Any, args: Sequence[Any]) -> None:
    """Record the items that a call adds to a container."""
    _, base, name = callee
    if base is None:
        return
    position = _ADDED_ARGUMENT.get(name)
    if position is not None and position < len(args):
        key = args[0][1] if name == "setdefault" and is_text(args[0]) else None
        builder.fills.append(
            ContainerWrite(builder.scope_index, builder.statement, base, key, args[position])
        )
    elif name in _ADDING_ALL and args[0] is not None:
        builder.fills.append(
            ContainerWrite(builder.scope_index, builder.statement, base, None, (ELEMENT, args[0]))
        )
