"""Lowering of functions, classes, lambdas and yields."""

import ast
from typing import Any

from remora.code.ir import model as ir
from remora.code.ir.lowering.builder import IRBuilder, OpenScope
from remora.code.ir.lowering.calls import record_decorator_call, record_registration
from remora.code.ir.lowering.expressions import lower_expression, lower_expressions
from remora.code.ir.lowering.parameters import lower_annotation, lower_parameters
from remora.code.ir.lowering.statements import unqualified_name
from remora.code.syntax.definitions import DefinitionNode, FunctionNode

_ACCESSORS = frozenset(
    (
        *("property", "cached_property", "abstractproperty", "lazy_property"),
        *("getter", "setter", "deleter"),
    )
)


def lower_function(builder: IRBuilder, node: FunctionNode) -> None:
    branches = builder.counted_scope.branches
    scope = _open(builder, node, ir.FUNCTION_SCOPE)
    if node.__class__ is ast.AsyncFunctionDef:
        scope.flags = ir.ASYNC
    scope.params = lower_parameters(builder, node.args)
    if node.returns is not None:
        scope.annotation = lower_annotation(builder, node.returns)
    _bind(builder, node, scope)
    builder.counted_scope.branches = branches


def lower_class(builder: IRBuilder, node: ast.ClassDef) -> None:
    branches = builder.counted_scope.branches
    scope = _open(builder, node, ir.CLASS_SCOPE)
    if node.bases:
        scope.bases = lower_expressions(builder, node.bases)
        builder.names.update([f"class ({unqualified_name(base)}" for base in node.bases])
        place = scope.index, builder.statement, node.lineno
        for base in scope.bases:
            callee = (ir.ATTRIBUTE, base, "__init_subclass__")
            builder.calls.append(ir.Call(*place, callee, implicit=True))
    for keyword in node.keywords:
        term = lower_expression(builder, keyword.value)
        if keyword.arg == "metaclass":
            bind = ir.Binding(ir.VALUE, builder.statement, builder.scope_index, term)
            scope.binds[ir.METACLASS] = [bind]
            builder.names.add(f"made {unqualified_name(keyword.value)}")
    _bind(builder, node, scope)
    builder.counted_scope.branches = branches


def lower_lambda(builder: IRBuilder, node: ast.Lambda) -> Any:
    outside = builder.scope
    inside = builder.open_scope(ir.LAMBDA_SCOPE, "", node.lineno)
    inside.params = lower_parameters(builder, node.args)
    builder.enter(inside)
    inside.results.append((builder.statement, lower_expression(builder, node.body)))
    builder.enter(outside)
    return (ir.SCOPE, inside.index)


def lower_yield(builder: IRBuilder, node: ast.Yield) -> None:
    term = None if node.value is None else lower_expression(builder, node.value)
    builder.scope.enclosing_function.yields.append((builder.statement, term))


def lower_yield_from(builder: IRBuilder, node: ast.YieldFrom) -> None:
    term = lower_expression(builder, node.value)
    element = None if term is None else (ir.ELEMENT, term)
    builder.scope.enclosing_function.yields.append((builder.statement, element))


def _open(builder: IRBuilder, node: DefinitionNode, kind: int) -> OpenScope:
    name = builder.mangled(node.name) if node.name[:2] == "__" else node.name
    scope = builder.open_scope(kind, name, node.lineno)
    builder.names.add(f"def {name}")
    builder.definitions.append((node, scope))
    bodies = builder.class_bodies if kind == ir.CLASS_SCOPE else builder.function_bodies
    bodies.append((scope, node.body, builder.block))
    return scope


def _bind(builder: IRBuilder, node: DefinitionNode, scope: OpenScope) -> None:
    if not node.decorator_list:
        builder.bind(node.name, ir.DEFINITION, scope.index)
        return
    nodes = node.decorator_list
    decorators = [(part.lineno, lower_expression(builder, part)) for part in nodes]
    term: Any = (ir.SCOPE, scope.index)
    if builder.scope.kind == ir.CLASS_SCOPE:
        builder.names.update(f"made {name}" for name in (scope.name, *map(unqualified_name, nodes)))
    if not _ACCESSORS.isdisjoint(map(unqualified_name, nodes)):
        builder.names.add(f"property {scope.name}")
    for line, decorator in reversed(decorators):
        record_registration(builder, decorator, line, term)
        term = record_decorator_call(builder, decorator, line, term)
    scope.decorators = range(len(builder.calls) - len(decorators), len(builder.calls))
    builder.bind(node.name, ir.DEFINITION, scope.index, term)
