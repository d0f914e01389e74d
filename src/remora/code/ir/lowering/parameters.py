"""Lowering of parameters and annotations."""

import ast
import re
from collections.abc import Callable
from typing import Any

from remora.code.ir import model as ir
from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.expressions import lower_expression
from remora.code.ir.model import Parameter
from remora.python_text import parse

_MAX_DEPTH = 12
_MAX_QUOTED = 300
_MAX_PARTS = 8
"""Parts in brackets. This and the limits above are decisions: longer types are rare."""
_PLAIN = re.compile(r"(?!.*\b\d+[A-Za-z_])[\w\s.,|\[\]\"']+", re.ASCII)
"""Characters allowed in a quoted type. Parsing them cannot cause a warning."""


def lower_annotation(builder: IRBuilder, node: Any, depth: int = 0) -> Any:
    """Return the term of a name, attribute, union or generic, or None for any other annotation."""
    if node.__class__ is ast.Name:
        builder.load(node.id, node.lineno)
        return node.id
    if depth > _MAX_DEPTH:
        return None
    if (handler := _HANDLERS.get(node.__class__)) is not None:
        return handler(node, builder, depth + 1)
    lower_expression(builder, node)  # such as a call in the arguments of `Annotated`
    return None


def _attribute(node: ast.Attribute, builder: IRBuilder, depth: int) -> Any:
    builder.names.add(node.attr)
    return (ir.ATTRIBUTE, lower_annotation(builder, node.value, depth), node.attr)


def _sequence(node: ast.List | ast.Tuple, builder: IRBuilder, depth: int) -> None:
    for part in node.elts:
        lower_annotation(builder, part, depth)


def _generic(node: ast.Subscript, builder: IRBuilder, depth: int) -> Any:
    base, inner = lower_annotation(builder, node.value, depth), node.slice
    if inner.__class__ is not ast.Tuple:
        return (ir.GENERIC, base, lower_annotation(builder, inner, depth))
    return (
        ir.GENERIC,
        base,
        *[lower_annotation(builder, part, depth) for part in inner.elts][:_MAX_PARTS],
    )


def _union(node: ast.BinOp, builder: IRBuilder, depth: int) -> Any:
    if node.op.__class__ is not ast.BitOr:
        lower_expression(builder, node)
        return None
    left = lower_annotation(builder, node.left, depth)
    right = lower_annotation(builder, node.right, depth)
    if left is None or right is None:
        return (ir.EITHER,) if left is right else (ir.EITHER, right if left is None else left)
    return (ir.EITHER, left, right)


def _constant(node: ast.Constant, builder: IRBuilder, depth: int) -> Any:
    if not isinstance(node.value, str):
        return None
    text = node.value.strip()
    if text.isidentifier():
        builder.load(text, node.lineno)
        return text
    if len(text) > _MAX_QUOTED or not _PLAIN.fullmatch(text):
        return None
    try:
        quoted = parse(text, "eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return lower_annotation(builder, ast.increment_lineno(quoted, node.lineno - 1), depth)


_HANDLERS: dict[type[ast.AST], Callable[[Any, IRBuilder, int], Any]] = {
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Subscript: _generic,
    ast.BinOp: _union,
}


def lower_parameters(builder: IRBuilder, args: ast.arguments) -> list[Parameter]:
    """Return the parameters in order. Defaults and annotations are lowered in the outer scope."""
    positional, first_ordinary = args.posonlyargs + args.args, len(args.posonlyargs)
    # defaults belong to the last parameters
    defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
    params = [
        _parameter(
            builder, arg, ir.ORDINARY if at >= first_ordinary else ir.POSITIONAL, defaults[at]
        )
        for at, arg in enumerate(positional)
    ]
    if args.vararg is not None:
        params.append(_parameter(builder, args.vararg, ir.VARARGS, None))
    if args.kwonlyargs:
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            params.append(_parameter(builder, arg, ir.KEYWORD, default))
    if args.kwarg is not None:
        params.append(_parameter(builder, args.kwarg, ir.KWARGS, None))
    return params


def _parameter(builder: IRBuilder, arg: ast.arg, kind: int, default: ast.expr | None) -> Parameter:
    name, annotation = arg.arg, arg.annotation
    name = builder.mangled(name) if name[:2] == "__" else name
    term = None if annotation is None else lower_annotation(builder, annotation)
    builder.names.add(name)
    return Parameter(
        name, kind, term, None if default is None else lower_expression(builder, default)
    )
