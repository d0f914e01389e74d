"""The calls that a statement makes."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

DISPLAYS = frozenset({"print", "pprint", "repr", "display", "breakpoint", "help"})


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


def is_named(function: ast.expr, wanted: Wanted) -> bool:
    """Return True if an expression, such as `add` or `cart.add`, has the function's name."""
    if isinstance(function, ast.Attribute):
        return function.attr == wanted.name
    return wanted.by_name and isinstance(function, ast.Name) and function.id == wanted.name
