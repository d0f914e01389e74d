"""Lowering of simple statements, such as assignments, imports and `return`."""

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


def lower_expression_statement(builder: IRBuilder, node: ast.Expr) -> None:
    value = node.value
    if value.__class__ is _CALL:
        builder.depth = 1
        lower_call(builder, value)
        builder.depth = 0
        if builder.exports is not None:
            extend_exports_by_call(builder, value)
    elif value.__class__ is not _CONSTANT:
        lower_expression(builder, value)


def lower_assignment(builder: IRBuilder, node: ast.Assign) -> None:
    value = node.value
    term = lower_expression(builder, value)
    for target in node.targets:
        if target.__class__ is not _NAME:
            assign_target(builder, target, term)
            continue
        name = target.id
        builder.bind(name, VALUE, term)
        if "property" in builder.names:
            _note_property(builder, name, value)
        if is_dunder_all(builder, target):
            assign_exports(builder, value)


def lower_augmented_assignment(builder: IRBuilder, node: ast.AugAssign) -> None:
    term = lower_expression(builder, node.value)
    target = node.target
    if is_dunder_all(builder, target):
        extend_exports(builder, node.value)
    if isinstance(node.op, ast.Add) and term is not None:
        if (base := lower_expression(builder, target)) is not None:
            builder.fills.append(
                ContainerWrite(builder.scope_index, builder.statement, base, None, (ELEMENT, term))
            )
    elif not isinstance(target, ast.Name):
        lower_expression(builder, target)


def lower_annotated_assignment(builder: IRBuilder, node: ast.AnnAssign) -> None:
    annotation = lower_annotation(builder, node.annotation)
    value = None if node.value is None else lower_expression(builder, node.value)
    target = node.target
    if isinstance(target, ast.Name):
        builder.bind(target.id, ANNOTATED, annotation, value)
        if node.value is not None and is_dunder_all(builder, target):
            assign_exports(builder, node.value)
    elif isinstance(target, ast.Attribute):
        write_attribute(builder, target.value, target.attr, value, annotation)


def lower_return(builder: IRBuilder, node: ast.Return) -> None:
    if node.value is not None and (term := lower_expression(builder, node.value)) is not None:
        builder.scope.results.append((builder.statement, term))


def lower_import(builder: IRBuilder, node: ast.Import) -> None:
    builder.imports.append(node)
    for alias in node.names:
        builder.names.update(alias.name.split("."))
        if alias.asname is not None:
            builder.bind(alias.asname, IMPORT, alias.name)
        else:
            package = alias.name.partition(".")[0]
            builder.bind(package, IMPORT, package, alias.name)


def lower_import_from(builder: IRBuilder, node: ast.ImportFrom) -> None:
    builder.imports.append(node)
    module = node.module or ""
    builder.names.update(module.split("."))
    source = (node.level, module)
    for alias in node.names:
        if (name := alias.name) == "*":
            builder.stars.append((node.level, module))
            continue
        builder.names.add(name)
        builder.bind(alias.asname or name, IMPORT_FROM, source, name)


def lower_global(builder: IRBuilder, node: ast.Global) -> None:
    for name in node.names:
        builder.scope.outer[name] = builder.scopes[0]


def lower_nonlocal(builder: IRBuilder, node: ast.Nonlocal) -> None:
    for name in node.names:
        builder.scope.outer[name] = builder.scope.owner_of(name)


def lower_delete(builder: IRBuilder, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            builder.bind(target.id, DELETED, None)
        elif isinstance(target, ast.Subscript):
            record_implicit_call(
                builder, lower_expression(builder, target.value), "__delitem__", target.lineno
            )
            lower_expression(builder, target.slice)
        else:
            lower_expression(builder, target)


def lower_raise(builder: IRBuilder, node: ast.Raise) -> None:
    for part in (node.exc, node.cause):
        if part is not None:
            lower_expression(builder, part)


def lower_assert(builder: IRBuilder, node: ast.Assert) -> None:
    branches = builder.counted_scope.branches + 1
    lower_expression(builder, node.test)
    if node.msg is not None:
        lower_expression(builder, node.msg)
    builder.counted_scope.branches = branches  # radon does not count branches inside `assert`
    record_narrowing(builder, node.test, builder.block)


def unqualified_name(node: Any) -> str:
    """Return `c` for `a.b.c`, `c[…]` and `c(…)`, or "" for anything else."""
    kind = node.__class__
    while kind is ast.Call or kind is ast.Subscript:
        node = node.func if kind is ast.Call else node.value
        kind = node.__class__
    if kind is ast.Attribute:
        return node.attr  # type: ignore[no-any-return]
    return node.id if kind is _NAME else ""


def _note_property(builder: IRBuilder, name: str, value: ast.expr) -> None:
    if value.__class__ in _MAY_BE_PROPERTY and unqualified_name(value) == "property":
        builder.names.add(f"property {name}")
