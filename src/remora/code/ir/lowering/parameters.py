"""Lambdas, parameters, annotations, and what a function yields."""

import ast
from typing import Any

from remora.code.ir.lowering.annotation_terms import annotation_term
from remora.code.ir.lowering.builder import IRBuilder, OpenScope
from remora.code.ir.lowering.expressions import lower_expression
from remora.code.ir.model import (
    COMPREHENSION_SCOPE,
    ELEMENT,
    KEYWORD,
    KWARGS,
    LAMBDA_SCOPE,
    ORDINARY,
    POSITIONAL,
    SCOPE,
    VALUE,
    VARARGS,
    Parameter,
)

_LEAVES = frozenset((ast.Name, ast.Constant, ast.Load))
_MAY_CALL = frozenset((ast.Subscript, ast.Call))


def lower_lambda(to: IRBuilder, node: ast.Lambda) -> Any:
    """A lambda."""
    outside = to.scope
    inside = to.open_scope(LAMBDA_SCOPE, "", node.lineno)
    inside.params = lower_parameters(to, node.args)
    to.enter(inside)
    inside.results.append((to.at, lower_expression(to, node.body)))
    to.enter(outside)
    return (SCOPE, inside.index)


def lower_parameters(to: IRBuilder, args: ast.arguments) -> list[Parameter]:
    """In the order of the signature; defaults and annotations belong to the scope around."""
    alone, ordinary, defaults = args.posonlyargs, args.args, args.defaults
    params: list[Parameter] = []
    place = len(defaults) - len(alone) - len(ordinary)  # among the defaults: they end together
    for arg in alone:
        params.append(_parameter(to, arg, POSITIONAL, defaults[place] if place >= 0 else None))
        place += 1
    for arg in ordinary:
        params.append(_parameter(to, arg, ORDINARY, defaults[place] if place >= 0 else None))
        place += 1
    if args.vararg is not None:
        params.append(_parameter(to, args.vararg, VARARGS, None))
    if args.kwonlyargs:
        for arg, given in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            params.append(_parameter(to, arg, KEYWORD, given))
    if args.kwarg is not None:
        params.append(_parameter(to, args.kwarg, KWARGS, None))
    return params


def lower_annotation(to: IRBuilder, node: ast.expr) -> Any:
    """The term of a type; a call within it is recorded."""
    term = annotation_term(node, to.names)
    if node.__class__ in _MAY_CALL:
        _calls_within(to, node)
    return term


def lower_yield(to: IRBuilder, node: ast.Yield) -> None:
    """`yield a`."""
    term = None if node.value is None else lower_expression(to, node.value)
    _frame(to).yields.append((to.at, term))


def lower_yield_from(to: IRBuilder, node: ast.YieldFrom) -> None:
    """`yield from a`."""
    term = lower_expression(to, node.value)
    _frame(to).yields.append((to.at, None if term is None else (ELEMENT, term)))


def lower_named_expression(to: IRBuilder, node: ast.NamedExpr) -> Any:
    """`a := b` binds in the function around a comprehension."""
    term = lower_expression(to, node.value)
    inside = to.scope
    to.enter(_frame(to))
    to.bind(node.target.id, VALUE, term)
    to.enter(inside)
    return term


def _parameter(to: IRBuilder, arg: ast.arg, kind: int, default: ast.expr | None) -> Parameter:
    name, promised = arg.arg, arg.annotation
    term = None if promised is None else lower_annotation(to, promised)
    to.names.add(name)
    return Parameter(name, kind, term, None if default is None else lower_expression(to, default))


def _frame(to: IRBuilder) -> OpenScope:
    """The function whose generator a `yield` makes."""
    scope = to.scope
    while scope.kind == COMPREHENSION_SCOPE and scope.parent is not None:
        scope = scope.parent
    return scope


def _calls_within(to: IRBuilder, node: ast.expr) -> None:
    waiting: list[Any] = [node]
    while waiting:
        found = waiting.pop()
        kind = found.__class__
        if kind in _LEAVES:
            continue
        if kind is ast.Subscript:
            waiting += (found.value, found.slice)
        elif kind is ast.Tuple or kind is ast.List:
            waiting += found.elts
        elif kind is ast.BinOp:
            waiting += (found.left, found.right)
        elif kind is ast.Call:
            lower_expression(to, found)
        else:
            waiting.extend(ast.iter_child_nodes(found))
