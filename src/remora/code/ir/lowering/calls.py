"""Calls, and what they do to a container or an attribute."""

import ast
from collections.abc import Sequence
from typing import Any

from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.expressions import is_text, lower_expression, lower_expressions
from remora.code.ir.model import ATTRIBUTE, ELEMENT, AttributeWrite, Call, ContainerWrite

_NAME, _ATTRIBUTE = ast.Name, ast.Attribute
_FILLING = {"append": 0, "appendleft": 0, "add": 0, "put": 0, "insert": 1, "setdefault": 1}
_FILLING_FROM = frozenset(("extend", "update"))
_FILLERS = _FILLING_FROM.union(_FILLING)
_BY_TEXT = frozenset(("getattr", "setattr"))


def lower_call(to: IRBuilder, node: ast.Call) -> Any:
    """The number of the call."""
    func: Any = node.func
    if func.__class__ is _ATTRIBUTE:
        return _of_attribute(to, node, func)
    if func.__class__ is _NAME:
        callee: Any = func.id
        to.names.add(callee)
    else:
        callee = lower_expression(to, func)
    given, named = node.args, node.keywords
    args = tuple(lower_expressions(to, given)) if given else ()
    keywords = tuple([(k.arg, lower_expression(to, k.value)) for k in named]) if named else ()
    line = node.lineno
    if callee.__class__ is str:
        if callee in _BY_TEXT:
            _named_by_text(to, line, callee, args)
    elif args and callee.__class__ is tuple and callee[0] == ATTRIBUTE:
        _fill(to, callee, args)
    calls = to.calls
    calls.append(Call(to.index, to.at, line, callee, args, keywords))
    return len(calls) - 1


def record_decorator_call(to: IRBuilder, decorator: Any, line: int, made: Any) -> Any:
    """A decorator is called with what it stands above; the term of the result."""
    to.calls.append(Call(to.index, to.at, line, decorator, (made,)))
    return len(to.calls) - 1


def _of_attribute(to: IRBuilder, node: ast.Call, func: ast.Attribute) -> int:
    name, base = func.attr, func.value
    add = to.names.add
    add(name)
    if base.__class__ is _NAME:
        owner: Any = base.id
        add(owner)
    else:
        owner = lower_expression(to, base)
    given, named = node.args, node.keywords
    args = tuple(lower_expressions(to, given)) if given else ()
    keywords = tuple([(k.arg, lower_expression(to, k.value)) for k in named]) if named else ()
    callee = (ATTRIBUTE, owner, name)
    if name in _FILLERS and args:
        _fill(to, callee, args)
    calls = to.calls
    line = func.end_lineno or node.lineno
    calls.append(Call(to.index, to.at, line, callee, args, keywords))
    return len(calls) - 1


def _named_by_text(to: IRBuilder, line: int, callee: str, args: Sequence[Any]) -> None:
    """`getattr` and `setattr` with a constant name are an attribute."""
    if len(args) < 2 or not is_text(args[1]):
        return
    name = args[1][1]
    to.names.add(name)
    if callee == "setattr" and len(args) > 2:
        to.names.add(f"set {name}")
        to.stores.append(AttributeWrite(to.index, to.at, line, args[0], name, args[2]))


def _fill(to: IRBuilder, callee: Any, args: Sequence[Any]) -> None:
    """What the call puts into a container."""
    _, base, name = callee
    if base is None:
        return
    place = _FILLING.get(name)
    if place is not None and place < len(args):
        key = args[0][1] if name == "setdefault" and is_text(args[0]) else None
        to.fills.append(ContainerWrite(to.index, to.at, base, key, args[place]))
    elif name in _FILLING_FROM and args[0] is not None:
        to.fills.append(ContainerWrite(to.index, to.at, base, None, (ELEMENT, args[0])))
