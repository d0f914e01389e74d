"""What a function's own body does: what it raises, whether something comes out of it."""

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remora.code.definitions import DefinitionNode

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
_ERRORS: dict[str, type[BaseException]] = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


class Raising(NamedTuple):
    """`names`: of the exceptions in `raise` and `assert` statements; `unnamed`: one is not written.

    `elsewhere`: exceptions may come out of what is called or awaited; `caught`: some are caught.
    """

    names: frozenset[str]
    unnamed: bool
    elsewhere: bool
    caught: bool


def raising(body: Sequence[ast.stmt]) -> Raising:
    """Of a function's body."""
    nodes = tuple(_own(body))
    raised = [node.exc for node in nodes if isinstance(node, ast.Raise)]
    names = {_exception(node) for node in raised}
    made = {id(node) for node in raised}
    if any(isinstance(node, ast.Assert) for node in nodes):
        names.add("AssertionError")
    return Raising(
        names=frozenset(name for name in names if name),
        unnamed=None in names,
        elsewhere=any(_lets_in(node) for node in nodes if id(node) not in made),
        caught=any(isinstance(node, ast.ExceptHandler) for node in nodes),
    )


def may_be(name: str, base: str) -> bool:
    """Whether an exception of that name could be a `base`, as far as names tell."""
    if name == base or name not in _ERRORS:
        return True
    return base in _ERRORS and issubclass(_ERRORS[name], _ERRORS[base])


def is_built_in(name: str) -> bool:
    """Whether Python's own exception of that name is meant."""
    return name in _ERRORS


def gives(body: Sequence[ast.stmt]) -> bool:
    """Whether a value comes out: by `return`, or by `yield`."""
    return any(
        isinstance(node, ast.Yield | ast.YieldFrom)
        or (isinstance(node, ast.Return) and not is_none(node.value))
        for node in _own(body)
    )


def is_stub(node: DefinitionNode, body: Sequence[ast.stmt]) -> bool:
    """Whether the body, given without its docstring, is left to others to write."""
    if any("abstract" in name or "overload" in name for name in map(_last, node.decorator_list)):
        return True
    return all(_says_nothing(statement) for statement in body)


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return statement.exc is not None and _exception(statement.exc) == "NotImplementedError"
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def _own(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a body but those of what is defined in it, last statement first."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, DefinitionNode | ast.Lambda):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _lets_in(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in _HARMLESS)
    return isinstance(node, _ENTRANCES)


def _exception(raised: ast.expr | None) -> str | None:
    """The class's name; null where `raise` stands alone or what it raises was made before."""
    name = _last(raised.func if isinstance(raised, ast.Call) else raised)
    return name if name[:1].isupper() else None


def _last(node: ast.expr | None) -> str:
    """`c` of `a.b.c` and of `c(…)`."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_none(value: ast.expr | None) -> bool:
    """Whether an expression is written None, or not at all."""
    return value is None or (isinstance(value, ast.Constant) and value.value is None)
