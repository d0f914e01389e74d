"""Values of a parameter at the boundaries that a function's code names."""

import ast
from collections.abc import Iterator

from remora.code.syntax.definitions import FunctionNode
from remora.code.syntax.effects import own_nodes
from remora.python_text import literal

_LONGEST = 12
"""Length of a text or collection up to which a test shows one of exactly that length."""
_SIZED = (str, bytes, list, tuple)


def boundary_values(function: FunctionNode, parameter: str, shown: object) -> list[object]:
    """Return the values at which the conditions of the code decide otherwise.

    They are the integers on both sides of a comparison, other literals and lengths that the code
    compares with, texts with the beginning or end that it asks for, and the empty value where a
    branch tests the argument. They have the type of `shown`, a value that an existing test passes,
    or are None if the code compares with None. The source of the method is boundary value analysis (Myers, The Art
    of Software Testing).
    """
    found: list[object] = []
    for node in own_nodes(function.body):
        for value in _values_at(node, parameter, shown):
            if value != shown and not any(value == other for other in found):
                found.append(value)
    return found


def _values_at(node: ast.AST, parameter: str, shown: object) -> Iterator[object]:
    match node:
        case ast.Compare(left=left, ops=operators, comparators=others):
            sides = [left, *others]
            for first, operator, second in zip(sides, operators, others, strict=False):
                yield from _compared(first, operator, second, parameter, shown)
                yield from _compared(second, operator, first, parameter, shown)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield from _empty(test, parameter, shown)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _empty(operand, parameter, shown)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _empty(value, parameter, shown)
        case ast.Call(
            func=ast.Attribute(value=text, attr="startswith" | "endswith" as name),
            args=[ast.Constant(value=str(part))],
        ) if _is(text, parameter) and isinstance(shown, str):
            yield part + shown if name == "startswith" else shown + part


def _empty(test: ast.expr, parameter: str, shown: object) -> Iterator[object]:
    if _is(test, parameter) and not isinstance(shown, bool) and shown is not None:
        yield type(shown)()


def _compared(
    side: ast.expr, operator: ast.cmpop, other: ast.expr, parameter: str, shown: object
) -> Iterator[object]:
    try:
        limit = literal(ast.unparse(other))
    except (ValueError, TypeError, SyntaxError):
        return
    if _is(side, parameter):
        values: list[object] = [limit]
        if isinstance(operator, ast.In | ast.NotIn):
            values = [*limit] if isinstance(limit, tuple | list | set | frozenset) else []
        elif type(limit) is int:
            values = [limit - 1, limit, limit + 1]
        yield from (value for value in values if value is None or type(value) is type(shown))
    elif isinstance(shown, _SIZED) and type(limit) is int and _is_length(side, parameter):
        for length in (limit - 1, limit, limit + 1):
            if 0 <= length <= _LONGEST and (shown or not length):
                yield (shown * (length // max(1, len(shown)) + 1))[:length]


def _is(side: ast.expr, parameter: str) -> bool:
    return isinstance(side, ast.Name) and side.id == parameter


def _is_length(side: ast.expr, parameter: str) -> bool:
    match side:
        case ast.Call(func=ast.Name(id="len"), args=[argument]):
            return _is(argument, parameter)
    return False
