"""Lowering of parameters and annotations."""

import ast
from typing import Any

from remora.code.ir.lowering.annotation_terms import annotation_term
from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.expressions import lower_expression
from remora.code.ir.model import KEYWORD, KWARGS, ORDINARY, POSITIONAL, VARARGS, Parameter

_LEAVES = frozenset((ast.Name, ast.Constant, ast.Load))
_MAY_CALL = frozenset((ast.Subscript, ast.Call))


def lower_parameters(builder: IRBuilder, args: ast.arguments) -> list[Parameter]:
    """Return the parameters in order. Defaults and annotations are lowered in the outer scope."""
    positional_only, ordinary, defaults = args.posonlyargs, args.args, args.defaults
    params: list[Parameter] = []
    # defaults belong to the last parameters
    at = len(defaults) - len(positional_only) - len(ordinary)
    for arg in positional_only:
        params.append(_parameter(builder, arg, POSITIONAL, defaults[at] if at >= 0 else None))
        at += 1
    for arg in ordinary:
        params.append(_parameter(builder, arg, ORDINARY, defaults[at] if at >= 0 else None))
        at += 1
    if args.vararg is not None:
        params.append(_parameter(builder, args.vararg, VARARGS, None))
    if args.kwonlyargs:
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            params.append(_parameter(builder, arg, KEYWORD, default))
    if args.kwarg is not None:
        params.append(_parameter(builder, args.kwarg, KWARGS, None))
    return params


def lower_annotation(builder: IRBuilder, node: ast.expr) -> Any:
    """Return the term of an annotation, and record the calls inside it."""
    term = annotation_term(node, builder.names)
    if node.__class__ in _MAY_CALL:
        _record_calls(builder, node)
    return term


def _parameter(builder: IRBuilder, arg: ast.arg, kind: int, default: ast.expr | None) -> Parameter:
    name, annotation = arg.arg, arg.annotation
    term = None if annotation is None else lower_annotation(builder, annotation)
    builder.names.add(name)
    return Parameter(
        name, kind, term, None if default is None else lower_expression(builder, default)
    )


def _record_calls(builder: IRBuilder, node: ast.expr) -> None:
    pending: list[Any] = [node]
    while pending:
        found = pending.pop()
        if (kind := found.__class__) in _LEAVES:
            continue
        if kind is ast.Subscript:
            pending += (found.value, found.slice)
        elif kind is ast.Tuple or kind is ast.List:
            pending += found.elts
        elif kind is ast.BinOp:
            pending += (found.left, found.right)
        elif kind is ast.Call:
            lower_expression(builder, found)
        else:
            pending.extend(ast.iter_child_nodes(found))
