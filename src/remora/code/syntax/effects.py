"""Exceptions that a function body raises, and values that it returns or yields."""

import ast
import builtins
from collections.abc import Iterator, Sequence

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode

_SCOPES = (*DEFINITIONS, ast.Lambda)
BUILTIN_EXCEPTIONS: dict[str, type[BaseException]] = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


def may_be_subclass(name: str, base: str) -> bool:
    """Return True if exception `name` may be `base` or a subclass of it, judging by their names."""
    if name == base or name not in BUILTIN_EXCEPTIONS:
        return True
    return base in BUILTIN_EXCEPTIONS and issubclass(
        BUILTIN_EXCEPTIONS[name], BUILTIN_EXCEPTIONS[base]
    )


def returns_or_yields(body: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Yield | ast.YieldFrom)
        or (isinstance(node, ast.Return) and not is_none_or_missing(node.value))
        for node in own_nodes(body)
    )


def is_stub(node: DefinitionNode, body: Sequence[ast.stmt]) -> bool:
    """Return True if a definition is abstract, an overload or empty.

    `body` excludes the docstring.
    """
    if any(
        "abstract" in name or "overload" in name
        for name in map(unqualified_name, node.decorator_list)
    ):
        return True
    return all(_is_empty(statement) for statement in body)


def _is_empty(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return statement.exc is not None and exception_name(statement.exc) == "NotImplementedError"
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def own_nodes(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of a body in reverse order. Nested definitions and lambdas are skipped."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, _SCOPES):
            continue
        yield node
        pending.extend(ast.iter_child_nodes(node))


def exception_name(raised: ast.expr | None) -> str | None:
    """Return the class name in a `raise`, or None if there is no class, as in `raise error`."""
    name = unqualified_name(raised.func if isinstance(raised, ast.Call) else raised)
    return name if name[:1].isupper() else None


def unqualified_name(node: ast.expr | None) -> str:
    """Return `c` for `a.b.c` and `c(…)`, or "" for anything else."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_none_or_missing(value: ast.expr | None) -> bool:
    """Return True if an expression is missing or is the literal None."""
    return value is None or (isinstance(value, ast.Constant) and value.value is None)
