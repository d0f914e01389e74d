"""The calls and other values that a statement shows."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from remora.operations.test.inputs.call_input import ASSERTED, last_name

DISPLAYS = frozenset({"print", "pprint", "repr", "display", "breakpoint", "help"})
_CHECKS = DISPLAYS | {"isinstance", "raises"}
"""Names of calls around a call that say little about its result, beside `assert...`."""


_DISPLAYED = ast.Tuple | ast.List | ast.Dict
"""Collections of which an item, as in `(f(x), 5)[1]`, says nothing about the others."""


class Wanted(NamedTuple):
    """The called name. `by_name` is true for functions and classes, and false for methods."""

    name: str
    by_name: bool


def calls_of(statement: ast.stmt, wanted: Wanted) -> Iterator[ast.Call]:
    """Yield the calls in a simple statement that may be calls of the function."""
    if not isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.Assert | ast.Return):
        return
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Lambda | ast.comprehension | ast.GeneratorExp | ast.ListComp):
            continue
        if isinstance(node, ast.Call):
            function = node.func.func if isinstance(node.func, ast.Call) else node.func
            if is_named(function, wanted):  # `f(x)`, or `f(x)(y)` if it returns a function
                yield node
        waiting.extend(ast.iter_child_nodes(node))


def written_values(statement: ast.stmt, wanted: Wanted) -> Iterator[ast.expr]:
    """Yield other values that a model's code shows.

    These are calls that use the result of the function, such as `str(f(x))` and `f(x).get(y)`, and
    what an expression or assertion is about, such as `cart.total` after `cart.add(f(x))`.
    """
    for one in ast.walk(statement):
        if isinstance(one, ast.Call) and not is_named(one.func, wanted):
            inner = (each.func for each in ast.walk(one) if isinstance(each, ast.Call))
            if not _is_check(one) and any(is_named(each, wanted) for each in inner):
                yield one
    match statement:
        case ast.Assert(test=ast.Compare(left=left, comparators=[ast.expr() as right])) if (
            is_literal(right)
        ):
            value = left
        case ast.Assert(test=ast.UnaryOp(op=ast.Not(), operand=value)) if not isinstance(
            value, ast.Compare
        ):
            pass
        case ast.Assert(test=value) | ast.Expr(value=value):
            pass
        case _:
            return
    is_known = isinstance(value, ast.Call) and (_is_check(value) or is_named(value.func, wanted))
    is_item = isinstance(value, ast.Subscript) and isinstance(value.value, _DISPLAYED)
    if isinstance(value, ASSERTED) and not is_known and not is_item:
        yield value


def _is_check(call: ast.Call) -> bool:
    name = last_name(call.func)
    return name in _CHECKS or name.startswith("assert")


def is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    return True


def is_named(function: ast.expr, wanted: Wanted) -> bool:
    """Return True if an expression, such as `add` or `cart.add`, has the function's name."""
    if isinstance(function, ast.Attribute):
        return function.attr == wanted.name
    return wanted.by_name and isinstance(function, ast.Name) and function.id == wanted.name
