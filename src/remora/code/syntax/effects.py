"""Analysis of the exceptions that a function body raises and the values it returns or yields."""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from remora.code.syntax.definitions import BLOCK_FIELDS, DEFINITIONS, DefinitionNode

# calls whose exceptions are never documented
_HARMLESS_CALLS = frozenset(
    (
        *("bool", "dict", "enumerate", "id", "isinstance", "len", "list", "print", "range"),
        *("repr", "set", "str", "super", "tuple", "type", "zip"),
    )
)
_MAY_RAISE = (
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.With, ast.AsyncWith),
    *(ast.Import, ast.ImportFrom),
)
_SCOPES = (*DEFINITIONS, ast.Lambda)
_BLOCKS = {kind: blocks for kind, blocks in BLOCK_FIELDS.items() if kind not in DEFINITIONS}
_BUILTIN_EXCEPTIONS: dict[str, type[BaseException]] = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


class RaisedExceptions(NamedTuple):
    """Exceptions raised in a body.

    `unnamed` is True if the class of a raised exception is not known. `caught` is True if the body
    has exception handlers.
    """

    names: frozenset[str]
    unnamed: bool
    caught: bool


def raised_exceptions(body: Sequence[ast.stmt]) -> RaisedExceptions:
    """Return the exceptions that a function body raises directly."""
    names: set[str | None] = set()
    caught = False
    for statement in _statements(body):
        if isinstance(statement, ast.Raise):
            names.add(exception_name(statement.exc))
        elif isinstance(statement, ast.Assert):
            names.add("AssertionError")
        elif isinstance(statement, ast.ExceptHandler):
            caught = True
    return RaisedExceptions(frozenset(name for name in names if name), None in names, caught)


def may_propagate(body: Sequence[ast.stmt]) -> bool:
    """Return True if the body has a call, `await`, `with` or the like that may raise."""
    raised: set[int] = set()  # calls that only construct the exception of a `raise`
    for node in own_nodes(body):
        if isinstance(node, ast.Raise):
            raised.add(id(node.exc))
        elif _may_raise(node) and id(node) not in raised:
            return True
    return False


def may_be_subclass(name: str, base: str) -> bool:
    """Return True if exception `name` may be `base` or a subclass of it, judging by their names."""
    if name == base or name not in _BUILTIN_EXCEPTIONS:
        return True
    return base in _BUILTIN_EXCEPTIONS and issubclass(
        _BUILTIN_EXCEPTIONS[name], _BUILTIN_EXCEPTIONS[base]
    )


def is_builtin_exception(name: str) -> bool:
    return name in _BUILTIN_EXCEPTIONS


def builtin_exceptions() -> Mapping[str, type[BaseException]]:
    """Return the built-in exceptions by name."""
    return _BUILTIN_EXCEPTIONS


def returns_or_yields(body: Sequence[ast.stmt]) -> bool:
    returns = (node for node in _statements(body) if isinstance(node, ast.Return))
    if any(not is_none_or_missing(node.value) for node in returns):
        return True
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(body))


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


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the statements and exception handlers of a body, excluding nested definitions."""
    pending: list[Any] = list(body)
    while pending:
        statement = pending.pop()
        yield statement
        for block in _BLOCKS.get(statement.__class__, ()):
            pending += getattr(statement, block)


def own_nodes(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes of a body in reverse order. Nested definitions and lambdas are skipped."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, _SCOPES):
            continue
        yield node
        pending.extend(ast.iter_child_nodes(node))


def _may_raise(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in _HARMLESS_CALLS)
    return isinstance(node, _MAY_RAISE)


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
