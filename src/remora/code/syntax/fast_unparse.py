"""Fast alternative to `ast.unparse` for headers and simple expressions."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from remora.code.syntax.definitions import DefinitionNode

_NAME = ast.Name  # the most frequent node


class _NotSimpleError(Exception):
    """Raised if a node needs `ast.unparse`."""


def unparse_header(node: DefinitionNode) -> str | None:
    """Return a definition's header without its colon, or None if it needs `ast.unparse`."""
    if getattr(node, "type_params", None):
        return None
    try:
        if isinstance(node, ast.ClassDef):
            inside = _call_arguments(node.bases, node.keywords)
            return f"class {node.name}({inside})" if inside else f"class {node.name}"
        keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        returns = "" if node.returns is None else f" -> {_text(node.returns)}"
        return f"{keyword} {node.name}({_parameters(node.args)}){returns}"
    except (_NotSimpleError, RecursionError, ValueError):
        return None


def _parameters(args: ast.arguments) -> str:
    posonly = args.posonlyargs
    parts = [_parameter(arg) for arg in (posonly + args.args if posonly else args.args)]
    if args.defaults:
        first = len(parts) - len(args.defaults)
        for index, default in enumerate(args.defaults, first):
            parts[index] = f"{parts[index]}={_text(default)}"
    if posonly:
        parts.insert(len(posonly), "/")
    if args.vararg is not None:
        parts.append(f"*{_parameter(args.vararg)}")
    elif args.kwonlyargs:
        parts.append("*")
    for index, arg in enumerate(args.kwonlyargs):
        value = args.kw_defaults[index]
        parts.append(_parameter(arg) if value is None else f"{_parameter(arg)}={_text(value)}")
    if args.kwarg is not None:
        parts.append(f"**{_parameter(args.kwarg)}")
    return ", ".join(parts)


def _parameter(arg: ast.arg) -> str:
    if (annotation := arg.annotation) is None:
        return arg.arg
    if annotation.__class__ is ast.Name:
        return f"{arg.arg}: {annotation.id}"
    return f"{arg.arg}: {_text(annotation)}"


def _call_arguments(args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> str:
    parts = list(map(_text, args))
    for keyword in keywords:
        name = "**" if keyword.arg is None else f"{keyword.arg}="
        parts.append(name + _text(keyword.value))
    return ", ".join(parts)


def _text(node: ast.expr) -> str:
    if node.__class__ is _NAME:
        return node.id
    if (writer := _WRITERS.get(node.__class__)) is None:
        raise _NotSimpleError
    return writer(node)


def _primary(node: ast.expr) -> str:
    """Return the source of an operand that needs no parentheses before a dot, bracket or
    operator.
    """
    if node.__class__ is _NAME:
        return node.id
    if node.__class__ not in _PRIMARIES:
        raise _NotSimpleError
    return _text(node)


def _attribute(node: ast.Attribute) -> str:
    return f"{_primary(node.value)}.{node.attr}"


def _constant(node: ast.Constant) -> str:
    value = node.value
    if value.__class__ in _PLAIN and node.kind is None:
        return repr(value)
    if value is not ...:
        raise _NotSimpleError
    return "..."


def _subscript(node: ast.Subscript) -> str:
    inside = node.slice
    if isinstance(inside, ast.Tuple) and inside.elts:
        if len(inside.elts) == 1:
            raise _NotSimpleError
        return f"{_primary(node.value)}[{_items(inside.elts)}]"
    return f"{_primary(node.value)}[{_text(inside)}]"


def _call(node: ast.Call) -> str:
    return f"{_primary(node.func)}({_call_arguments(node.args, node.keywords)})"


def _union(node: ast.BinOp) -> str:
    left, right = node.left, node.right
    if not isinstance(node.op, ast.BitOr):
        raise _NotSimpleError
    before = _union(left) if left.__class__ is ast.BinOp else _operand(left)
    return f"{before} | {_operand(right)}"


def _operand(node: ast.expr) -> str:
    return _constant(node) if node.__class__ is ast.Constant else _primary(node)


def _negative(node: ast.UnaryOp) -> str:
    if not (isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)):
        raise _NotSimpleError
    return f"-{_constant(node.operand)}"


def _tuple(node: ast.Tuple) -> str:
    return f"({_text(node.elts[0])},)" if len(node.elts) == 1 else f"({_items(node.elts)})"


def _list(node: ast.List) -> str:
    return f"[{_items(node.elts)}]"


def _dict(node: ast.Dict) -> str:
    if node.keys:
        raise _NotSimpleError
    return "{}"


def _items(nodes: Sequence[ast.expr]) -> str:
    return ", ".join(map(_text, nodes))


_PLAIN = frozenset((str, int, bool, type(None), bytes))
_PRIMARIES = frozenset((ast.Name, ast.Attribute, ast.Subscript, ast.Call))
_WRITERS: dict[type[ast.AST], Callable[[Any], str]] = {
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.BinOp: _union,
    ast.UnaryOp: _negative,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Dict: _dict,
}
