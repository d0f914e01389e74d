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


def _annotation_term(node: Any, builder: IRBuilder, depth: int = 0) -> Any:
    """Return the term of a name, attribute, union or generic, or None for any other annotation."""
    if node.__class__ is ast.Name:
        builder.load(node.id, node.lineno, early=True)
        return node.id
    handler = _HANDLERS.get(node.__class__)
    return None if handler is None or depth > _MAX_DEPTH else handler(node, builder, depth + 1)


def _attribute(node: ast.Attribute, builder: IRBuilder, depth: int) -> Any:
    builder.names.add(node.attr)
    return (ir.ATTRIBUTE, _annotation_term(node.value, builder, depth), node.attr)


def _constant(node: ast.Constant, builder: IRBuilder, depth: int) -> Any:
    return _quoted_annotation(node, builder, depth - 1) if isinstance(node.value, str) else None


def _generic(node: ast.Subscript, builder: IRBuilder, depth: int) -> Any:
    base, inner = _annotation_term(node.value, builder, depth), node.slice
    if inner.__class__ is not ast.Tuple:
        return (ir.GENERIC, base, _annotation_term(inner, builder, depth))
    return (
        ir.GENERIC,
        base,
        *[_annotation_term(part, builder, depth) for part in inner.elts[:_MAX_PARTS]],
    )


def _union(node: ast.BinOp, builder: IRBuilder, depth: int) -> Any:
    if node.op.__class__ is not ast.BitOr:
        return None
    left = _annotation_term(node.left, builder, depth)
    right = _annotation_term(node.right, builder, depth)
    if left is None or right is None:
        return (ir.EITHER,) if left is right else (ir.EITHER, right if left is None else left)
    return (ir.EITHER, left, right)


def _quoted_annotation(quoted: ast.Constant, builder: IRBuilder, depth: int) -> Any:
    text = str(quoted.value).strip()
    if text.isidentifier():
        return _annotation_term(ast.copy_location(ast.Name(text), quoted), builder, depth)
    if len(text) > _MAX_QUOTED or not _PLAIN.fullmatch(text):
        return None
    try:
        node = parse(text, "eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return _annotation_term(ast.increment_lineno(node, quoted.lineno - 1), builder, depth + 1)


_HANDLERS: dict[type[ast.AST], Callable[[Any, IRBuilder, int], Any]] = {
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.Subscript: _generic,
    ast.BinOp: _union,
}
_LEAVES = frozenset((ast.Name, ast.Constant, ast.Load))
_MAY_CALL = frozenset((ast.Subscript, ast.Call, ast.BinOp))


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


def lower_annotation(builder: IRBuilder, node: ast.expr) -> Any:
    """Return the term of an annotation, and record the calls inside it."""
    term = _annotation_term(node, builder)
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
        part = pending.pop()
        if part.__class__ is ast.Call:
            lower_expression(builder, part)
        elif part.__class__ not in _LEAVES:
            pending.extend(ast.iter_child_nodes(part))
