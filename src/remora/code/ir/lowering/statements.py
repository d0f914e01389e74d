"""Statements without blocks: assignments, imports, what is returned, raised and deleted."""

import ast
from typing import Any

from remora.code.ir.lowering.all_exports import exported, exported_by_call, exported_too, is_exports
from remora.code.ir.lowering.assignment_targets import assign, store
from remora.code.ir.lowering.blocks import narrow
from remora.code.ir.lowering.builder import Builder
from remora.code.ir.lowering.calls import call
from remora.code.ir.lowering.expressions import expression, implicit
from remora.code.ir.lowering.parameters import annotation
from remora.code.ir.model import ANNOTATED, EACH, GONE, IMPORT, IMPORT_FROM, VALUE, Fill

_NAME, _CONSTANT, _CALL = ast.Name, ast.Constant, ast.Call
_MAY_BE_PROPERTY = frozenset((ast.Call, ast.Name, ast.Attribute, ast.Subscript))


def alone(to: Builder, node: ast.Expr) -> None:
    """An expression whose value nobody takes: mostly a call."""
    value = node.value
    if value.__class__ is _CALL:
        to.depth = 1
        call(to, value)
        to.depth = 0
        if to.exports is not None:
            exported_by_call(to, value)
    elif value.__class__ is not _CONSTANT:
        expression(to, value)


def assignment(to: Builder, node: ast.Assign) -> None:
    """`a = b = c`."""
    value = node.value
    term = expression(to, value)
    for target in node.targets:
        if target.__class__ is not _NAME:
            assign(to, target, term)
            continue
        name = target.id
        to.bind(name, VALUE, term)
        if "property" in to.names:
            _note_property(to, name, value)
        if is_exports(to, target):
            exported(to, value)


def augmented(to: Builder, node: ast.AugAssign) -> None:
    """`a += b`."""
    term = expression(to, node.value)
    target = node.target
    if is_exports(to, target):
        exported_too(to, node.value)
    if isinstance(node.op, ast.Add) and term is not None:
        base = expression(to, target)
        if base is not None:
            to.fills.append(Fill(to.index, to.at, base, None, (EACH, term)))
    elif not isinstance(target, ast.Name):
        expression(to, target)


def annotated(to: Builder, node: ast.AnnAssign) -> None:
    """`a: b = c`."""
    promised = annotation(to, node.annotation)
    value = None if node.value is None else expression(to, node.value)
    target = node.target
    if isinstance(target, ast.Name):
        to.bind(target.id, ANNOTATED, promised, value)
        if node.value is not None and is_exports(to, target):
            exported(to, node.value)
    elif isinstance(target, ast.Attribute):
        store(to, target.value, target.attr, value, promised)


def result(to: Builder, node: ast.Return) -> None:
    """`return`."""
    if node.value is not None:
        term = expression(to, node.value)
        if term is not None:
            to.scope.results.append((to.at, term))


def imported(to: Builder, node: ast.Import) -> None:
    """`import a.b as c`."""
    to.imports.append(node)
    for alias in node.names:
        to.names.update(alias.name.split("."))
        if alias.asname is not None:
            to.bind(alias.asname, IMPORT, alias.name)
        else:
            top = alias.name.partition(".")[0]
            to.bind(top, IMPORT, top, alias.name)


def imported_from(to: Builder, node: ast.ImportFrom) -> None:
    """`from a import b as c`."""
    to.imports.append(node)
    module = node.module or ""
    to.names.update(module.split("."))
    place = (node.level, module)
    for alias in node.names:
        name = alias.name
        if name == "*":
            to.stars.append((node.level, module))
            continue
        to.names.add(name)
        to.bind(alias.asname or name, IMPORT_FROM, place, name)


def global_(to: Builder, node: ast.Global) -> None:
    """`global`."""
    for name in node.names:
        to.scope.outer[name] = to.scopes[0]


def nonlocal_(to: Builder, node: ast.Nonlocal) -> None:
    """`nonlocal`."""
    for name in node.names:
        to.scope.outer[name] = to.scope.owner_of(name)


def deletion(to: Builder, node: ast.Delete) -> None:
    """`del`."""
    for target in node.targets:
        if isinstance(target, ast.Name):
            to.bind(target.id, GONE, None)
        elif isinstance(target, ast.Subscript):
            implicit(to, expression(to, target.value), "__delitem__", target.lineno)
            expression(to, target.slice)
        else:
            expression(to, target)


def raised(to: Builder, node: ast.Raise) -> None:
    """`raise a from b`."""
    for part in (node.exc, node.cause):
        if part is not None:
            expression(to, part)


def asserted(to: Builder, node: ast.Assert) -> None:
    """`assert`."""
    points = to.owner.points + 1
    expression(to, node.test)
    if node.msg is not None:
        expression(to, node.msg)
    to.owner.points = points  # radon looks no further into it
    narrow(to, node.test, to.block)


def last_name(node: Any) -> str:
    """`c` of `a.b.c`, of `c[…]`, and of `c(…)`."""
    kind = node.__class__
    while kind is ast.Call or kind is ast.Subscript:
        node = node.func if kind is ast.Call else node.value
        kind = node.__class__
    if kind is ast.Attribute:
        return node.attr  # type: ignore[no-any-return]
    return node.id if kind is _NAME else ""


def _note_property(to: Builder, name: str, value: ast.expr) -> None:
    if value.__class__ in _MAY_BE_PROPERTY and last_name(value) == "property":
        to.names.add(f"property {name}")
