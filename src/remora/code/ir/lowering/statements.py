"""Statements without blocks: assignments, imports, what is returned, raised and deleted."""

import ast
from typing import Any

from remora.code.ir.lowering.all_exports import (
    assign_exports,
    extend_exports,
    extend_exports_by_call,
    is_dunder_all,
)
from remora.code.ir.lowering.assignment_targets import assign_target, write_attribute
from remora.code.ir.lowering.blocks import record_narrowing
from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.calls import lower_call
from remora.code.ir.lowering.expressions import lower_expression, record_implicit_call
from remora.code.ir.lowering.parameters import lower_annotation
from remora.code.ir.model import (
    ANNOTATED,
    DELETED,
    ELEMENT,
    IMPORT,
    IMPORT_FROM,
    VALUE,
    ContainerWrite,
)

_NAME, _CONSTANT, _CALL = ast.Name, ast.Constant, ast.Call
_MAY_BE_PROPERTY = frozenset((ast.Call, ast.Name, ast.Attribute, ast.Subscript))


def lower_expression_statement(to: IRBuilder, node: ast.Expr) -> None:
    """An expression whose value nobody takes: mostly a call."""
    value = node.value
    if value.__class__ is _CALL:
        to.depth = 1
        lower_call(to, value)
        to.depth = 0
        if to.exports is not None:
            extend_exports_by_call(to, value)
    elif value.__class__ is not _CONSTANT:
        lower_expression(to, value)


def lower_assignment(to: IRBuilder, node: ast.Assign) -> None:
    """`a = b = c`."""
    value = node.value
    term = lower_expression(to, value)
    for target in node.targets:
        if target.__class__ is not _NAME:
            assign_target(to, target, term)
            continue
        name = target.id
        to.bind(name, VALUE, term)
        if "property" in to.names:
            _note_property(to, name, value)
        if is_dunder_all(to, target):
            assign_exports(to, value)


def lower_augmented_assignment(to: IRBuilder, node: ast.AugAssign) -> None:
    """`a += b`."""
    term = lower_expression(to, node.value)
    target = node.target
    if is_dunder_all(to, target):
        extend_exports(to, node.value)
    if isinstance(node.op, ast.Add) and term is not None:
        base = lower_expression(to, target)
        if base is not None:
            to.fills.append(ContainerWrite(to.index, to.at, base, None, (ELEMENT, term)))
    elif not isinstance(target, ast.Name):
        lower_expression(to, target)


def lower_annotated_assignment(to: IRBuilder, node: ast.AnnAssign) -> None:
    """`a: b = c`."""
    promised = lower_annotation(to, node.annotation)
    value = None if node.value is None else lower_expression(to, node.value)
    target = node.target
    if isinstance(target, ast.Name):
        to.bind(target.id, ANNOTATED, promised, value)
        if node.value is not None and is_dunder_all(to, target):
            assign_exports(to, node.value)
    elif isinstance(target, ast.Attribute):
        write_attribute(to, target.value, target.attr, value, promised)


def lower_return(to: IRBuilder, node: ast.Return) -> None:
    """`return`."""
    if node.value is not None:
        term = lower_expression(to, node.value)
        if term is not None:
            to.scope.results.append((to.at, term))


def lower_import(to: IRBuilder, node: ast.Import) -> None:
    """`import a.b as c`."""
    to.imports.append(node)
    for alias in node.names:
        to.names.update(alias.name.split("."))
        if alias.asname is not None:
            to.bind(alias.asname, IMPORT, alias.name)
        else:
            top = alias.name.partition(".")[0]
            to.bind(top, IMPORT, top, alias.name)


def lower_import_from(to: IRBuilder, node: ast.ImportFrom) -> None:
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


def lower_global(to: IRBuilder, node: ast.Global) -> None:
    """`global`."""
    for name in node.names:
        to.scope.outer[name] = to.scopes[0]


def lower_nonlocal(to: IRBuilder, node: ast.Nonlocal) -> None:
    """`nonlocal`."""
    for name in node.names:
        to.scope.outer[name] = to.scope.owner_of(name)


def lower_delete(to: IRBuilder, node: ast.Delete) -> None:
    """`del`."""
    for target in node.targets:
        if isinstance(target, ast.Name):
            to.bind(target.id, DELETED, None)
        elif isinstance(target, ast.Subscript):
            record_implicit_call(
                to, lower_expression(to, target.value), "__delitem__", target.lineno
            )
            lower_expression(to, target.slice)
        else:
            lower_expression(to, target)


def lower_raise(to: IRBuilder, node: ast.Raise) -> None:
    """`raise a from b`."""
    for part in (node.exc, node.cause):
        if part is not None:
            lower_expression(to, part)


def lower_assert(to: IRBuilder, node: ast.Assert) -> None:
    """`assert`."""
    points = to.owner.points + 1
    lower_expression(to, node.test)
    if node.msg is not None:
        lower_expression(to, node.msg)
    to.owner.points = points  # radon looks no further into it
    record_narrowing(to, node.test, to.block)


def unqualified_name(node: Any) -> str:
    """`c` of `a.b.c`, of `c[…]`, and of `c(…)`."""
    kind = node.__class__
    while kind is ast.Call or kind is ast.Subscript:
        node = node.func if kind is ast.Call else node.value
        kind = node.__class__
    if kind is ast.Attribute:
        return node.attr  # type: ignore[no-any-return]
    return node.id if kind is _NAME else ""


def _note_property(to: IRBuilder, name: str, value: ast.expr) -> None:
    if value.__class__ in _MAY_BE_PROPERTY and unqualified_name(value) == "property":
        to.names.add(f"property {name}")
