"""Hypothesis strategies for parameters, as source code."""

import ast

from remora.operations.test.inputs.parameter_use import ParameterUse, last_name
from remora.operations.test.inputs.sample_values import ALIASES
from remora.operations.test.target_function import TargetFunction

_WORD = "st.text('abcdefghijklmnopqrstuvwxyz', min_size=1)"
_OF_KIND: dict[str, tuple[str, ...]] = {
    "int": ("st.integers()", "st.integers(min_value=0)", "st.integers(0, 1000)"),
    "float": (
        "st.floats(allow_nan=False, allow_infinity=False)",
        "st.floats(-1000, 1000)",
        "st.floats(0, 1000)",
    ),
    "str": ("st.text()", "st.text('abc xyz')", _WORD),
    "bytes": ("st.binary()",),
    "bool": ("st.booleans()",),
    "list": ("st.lists(st.integers())", "st.lists(st.integers(0, 1000))", f"st.lists({_WORD})"),
    "dict": ("st.dictionaries(st.text(), st.integers())",),
}
"""Strategies by kind, widest first."""
DOMAIN_COUNT = 3
_OF_ITEMS = {"list": "lists", "set": "sets"}


def strategy_for(subject: TargetFunction, arg: ast.arg, number: int) -> str | None:
    """Return a strategy for a parameter's annotated type, or None if the type is unknown.

    If there is no annotation, the strategy is based on how the function uses the parameter.
    `number` selects the domain, where 0 is the widest.
    """
    if arg.annotation is not None:
        return _of_type(arg.annotation, number)
    used = ParameterUse(arg.arg, subject.function, {}).kinds
    return _strategy_of_kind(next(iter(used), None), number)


def _of_type(annotation: ast.expr, number: int) -> str | None:
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                return _of_type(ast.parse(text, mode="eval").body, number)
            except SyntaxError:
                return None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _first(left, right, number)
        case ast.Subscript(value=outer, slice=inner):
            return _of_generic(last_name(outer), inner, number)
        case ast.Name() | ast.Attribute():
            return _strategy_of_kind(
                ALIASES.get(last_name(annotation), last_name(annotation)), number
            )
    return None


def _first(left: ast.expr, right: ast.expr, number: int) -> str | None:
    """Return a strategy for both sides of a union, or None if both types are unknown."""
    sides = [s for s in (_of_type(left, number), _of_type(right, number)) if s is not None]
    return " | ".join(sides) if sides else None


def _of_generic(outer: str, inner: ast.expr, number: int) -> str | None:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if outer == "Literal":
        return f"st.sampled_from([{', '.join(map(ast.unparse, parts))}])"
    if outer == "Optional":
        return _of_type(parts[0], number)
    kind = ALIASES.get(outer, outer)
    items = [_of_type(part, number) for part in parts]
    words = [item for item in items if item is not None]
    if len(words) != len(items):
        return None
    if kind in _OF_ITEMS and len(words) == 1:
        return f"st.{_OF_ITEMS[kind]}({words[0]})"
    if kind == "dict" and len(words) == 2:
        return f"st.dictionaries({words[0]}, {words[1]})"
    return f"st.tuples({', '.join(words)})" if kind == "tuple" else None


def _strategy_of_kind(kind: str | None, number: int) -> str | None:
    known = _OF_KIND.get(kind or "", ())
    return known[min(number, len(known) - 1)] if known else None
