"""Functions and classes: what is said around their bodies, and what each of them is called."""

import ast
from typing import Any

from remora.code.ir.lowering.builder import IRBuilder, OpenScope
from remora.code.ir.lowering.calls import record_decorator_call
from remora.code.ir.lowering.expressions import lower_expression, lower_expressions
from remora.code.ir.lowering.parameters import lower_annotation, lower_parameters
from remora.code.ir.lowering.statements import unqualified_name
from remora.code.ir.model import ASYNC, CLASS_SCOPE, DEFINITION, FUNCTION_SCOPE, SCOPE
from remora.code.syntax.definitions import DefinitionNode

_ACCESSORS = frozenset(
    (
        *("property", "cached_property", "abstractproperty", "lazy_property"),
        *("getter", "setter", "deleter"),
    )
)


def lower_function(to: IRBuilder, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """`def`, `async def`."""
    points = to.owner.points
    scope = _open(to, node, FUNCTION_SCOPE)
    if node.__class__ is ast.AsyncFunctionDef:
        scope.flags = ASYNC
    scope.params = lower_parameters(to, node.args)
    if node.returns is not None:
        scope.annotation = lower_annotation(to, node.returns)
    _bind(to, node, scope)
    to.owner.points = points


def lower_class(to: IRBuilder, node: ast.ClassDef) -> None:
    """`class`."""
    points = to.owner.points
    scope = _open(to, node, CLASS_SCOPE)
    if node.bases:
        scope.bases = lower_expressions(to, node.bases)
        to.names.update([f"class ({unqualified_name(base)}" for base in node.bases])
    for keyword in node.keywords:
        lower_expression(to, keyword.value)
    _bind(to, node, scope)
    to.owner.points = points


def _open(to: IRBuilder, node: DefinitionNode, kind: int) -> OpenScope:
    name = node.name
    scope = to.open_scope(kind, name, node.lineno)
    to.names.add(f"def {name}")
    to.defined.append((node, scope))
    to.waiting.append((scope, node.body, to.block))
    return scope


def _bind(to: IRBuilder, node: DefinitionNode, scope: OpenScope) -> None:
    above = node.decorator_list
    if not above:
        to.bind(node.name, DEFINITION, scope.index)
        return
    decorators = [(each.lineno, lower_expression(to, each)) for each in above]
    made: Any = (SCOPE, scope.index)
    if any(unqualified_name(each) in _ACCESSORS for each in above):
        to.names.add(f"property {node.name}")
    for line, decorator in reversed(decorators):
        made = record_decorator_call(to, decorator, line, made)
    scope.decorators = range(len(to.calls) - len(decorators), len(to.calls))
    to.bind(node.name, DEFINITION, scope.index, made)
