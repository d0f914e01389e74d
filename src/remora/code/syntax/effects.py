"""What a function's own body does: what it raises, whether something comes out of it."""

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from remora.code.syntax.definitions import BLOCK_FIELDS, DEFINITIONS, DefinitionNode

# calls that raise nothing which anybody documents
_HARMLESS = frozenset(
    (
        *("bool", "dict", "enumerate", "id", "isinstance", "len", "list", "print", "range"),
        *("repr", "set", "str", "super", "tuple", "type", "zip"),
    )
)
_ENTRANCES = (
    *(ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.With, ast.AsyncWith),
    *(ast.Import, ast.ImportFrom),
)
_INNER = (*DEFINITIONS, ast.Lambda)
_BLOCKS = {kind: blocks for kind, blocks in BLOCK_FIELDS.items() if kind not in DEFINITIONS}
_ERRORS: dict[str, type[BaseException]] = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


class RaisedExceptions(NamedTuple):
    """`names`: of the exceptions in `raise` and `assert` statements; `unnamed`: one is not written.

    `caught`: some exceptions are caught.
    """

    names: frozenset[str]
    unnamed: bool
    caught: bool


def raised_exceptions(body: Sequence[ast.stmt]) -> RaisedExceptions:
    """By a function's body."""
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
    """Whether exceptions may come out of what a function's body calls or awaits."""
    raised: set[int] = set()  # what stands after `raise` is made here, and comes out anyway
    for node in own_nodes(body):
        if isinstance(node, ast.Raise):
            raised.add(id(node.exc))
        elif _may_raise(node) and id(node) not in raised:
            return True
    return False


def may_be_subclass(name: str, base: str) -> bool:
    """Whether an exception of that name could be a `base`, as far as names tell."""
    if name == base or name not in _ERRORS:
        return True
    return base in _ERRORS and issubclass(_ERRORS[name], _ERRORS[base])


def is_builtin_exception(name: str) -> bool:
    """Whether Python's own exception of that name is meant."""
    return name in _ERRORS


def returns_or_yields(body: Sequence[ast.stmt]) -> bool:
    """Whether a value comes out: by `return`, or by `yield`."""
    returns = (node for node in _statements(body) if isinstance(node, ast.Return))
    if any(not is_none_or_missing(node.value) for node in returns):
        return True
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(body))


def is_stub(node: DefinitionNode, body: Sequence[ast.stmt]) -> bool:
    """Whether the body, given without its docstring, is left to others to write."""
    if any(
        "abstract" in name or "overload" in name
        for name in map(unqualified_name, node.decorator_list)
    ):
        return True
    return all(_says_nothing(statement) for statement in body)


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return statement.exc is not None and exception_name(statement.exc) == "NotImplementedError"
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The statements of a body but those of what is defined in it, and the handlers of each `try`."""
    waiting: list[Any] = list(body)
    while waiting:
        statement = waiting.pop()
        yield statement
        for block in _BLOCKS.get(statement.__class__, ()):
            waiting += getattr(statement, block)


def own_nodes(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a body but those of what is defined in it, last statement first."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _INNER):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _may_raise(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in _HARMLESS)
    return isinstance(node, _ENTRANCES)


def exception_name(raised: ast.expr | None) -> str | None:
    """The class's name; null where `raise` stands alone or what it raises was made before."""
    name = unqualified_name(raised.func if isinstance(raised, ast.Call) else raised)
    return name if name[:1].isupper() else None


def unqualified_name(node: ast.expr | None) -> str:
    """`c` of `a.b.c` and of `c(…)`."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_none_or_missing(value: ast.expr | None) -> bool:
    """Whether an expression is written None, or not at all."""
    return value is None or (isinstance(value, ast.Constant) and value.value is None)
