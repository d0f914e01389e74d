"""Narrowing of names and attributes by conditions such as `isinstance(x, A)`.

Example: after `if not isinstance(x, A): return`, `x` is an `A`, as is `self.x` in the operand after
`isinstance(self.x, A) and`. `types_if` says what is known if a condition is true or false, and
`IRBuilder.types` what is known at the current position.
"""

import ast
from typing import Any

from remora.code.ir import model as ir
from remora.code.ir.lowering.builder import IRBuilder, Types
from remora.code.ir.lowering.expressions import lower_expression

NOTHING: Types = {}
_CHECKS = frozenset((ast.Call, ast.Compare))
_SAME = frozenset((ast.Is, ast.Eq))


def types_if(builder: IRBuilder, test: Any, *, holds: bool) -> Types:
    """Return what is known about types if a condition is true or, if `holds` is False, false."""
    kind = test.__class__
    if kind is ast.UnaryOp and test.op.__class__ is ast.Not:
        return types_if(builder, test.operand, holds=not holds)
    if kind is ast.BoolOp:
        parts = [types_if(builder, value, holds=holds) for value in test.values]
        if (test.op.__class__ is ast.And) == holds:
            return {path: term for part in parts for path, term in part.items()}
        shared = parts[0].keys() & set.intersection(*map(set, parts))
        return {path: (ir.EITHER, *[part[path] for part in parts]) for path in shared}
    return _checked_types(builder, test) if holds and kind in _CHECKS else NOTHING


def _checked_types(builder: IRBuilder, test: ast.expr) -> Types:
    match test:
        case ast.Call(ast.Name("isinstance"), [target, classes]):
            return _types_of(builder, target, classes)
        case ast.Compare(ast.Call(ast.Name("type"), [target]), [op], [cls]) if type(op) in _SAME:
            return _types_of(builder, target, cls)
    return NOTHING


def _types_of(builder: IRBuilder, target: ast.expr, classes: Any) -> Types:
    match target:
        case ast.Name(path) | ast.NamedExpr(ast.Name(path)):
            term: Any = path
        case ast.Attribute(ast.Name(owner), name):
            name = builder.mangled(name) if name[:2] == "__" else name
            path, term = f"{owner}.{name}", (ir.ATTRIBUTE, owner, name)
        case _:
            return NOTHING
    terms = []
    while classes.__class__ is ast.BinOp:  # `A | B`
        terms.append(lower_expression(builder, classes.right))
        classes = classes.left
    terms.append(lower_expression(builder, classes))
    return {path: (ir.NARROWED, term, (ir.INSTANCE, (ir.EITHER, *terms)))}


def lower_narrowed(builder: IRBuilder, types: Types, node: ast.expr) -> Any:
    """Lower an expression in which these types are known."""
    if not types:
        return lower_expression(builder, node)
    builder.push_types(types)
    term = lower_expression(builder, node)
    builder.types.pop()
    return term
