"""Recipes for `raise` and `except` statements."""

import ast
import re
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy

from remora.code.edit.edits import Edit
from remora.code.syntax.definitions import FunctionNode, ImportNode
from remora.operations.lint.recipes.base import (
    PythonSource,
    Recipe,
    RecipeFix,
    Statements,
    are_alike,
    dump,
)
from remora.tools.host.ruff.finding import Finding

_NAMES = ("err", "error", "exc", "e", "ex", "exception")


def chain(source: PythonSource, finding: Finding) -> RecipeFix | None:
    """B904: raise from the exception that is being handled, or `from None` if the file does.

    With a cause, tracebacks keep showing both exceptions, and only the text between them changes.
    What people choose is a habit of the project: the other choices in the same file and package
    tell it in 84 % of cases, and `from` with a name alone in 75 %.
    """
    at = source.position(finding["line"], finding["column"])
    around = source.enclosing(at)
    raised = next((node for node in reversed(around) if isinstance(node, ast.Raise)), None)
    handler = next((node for node in reversed(around) if isinstance(node, ast.ExceptHandler)), None)
    if raised is None or handler is None or raised.cause or not _is_new(raised.exc):
        return None
    end = source.span(raised)[1]
    if source.once(_hides_causes):
        return RecipeFix((Edit(end, end, " from None"), *_unused_name(source, handler)))
    if handler.name:
        return None if _is_rebound(handler) else _with_cause(end, handler.name)
    return _with_new_name(source, handler, around, end)


def _with_cause(end: int, name: str) -> RecipeFix:
    return RecipeFix((Edit(end, end, f" from {name}"),))


def _unused_name(source: PythonSource, handler: ast.ExceptHandler) -> tuple[Edit, ...]:
    """Return the edit that removes the name of an exception that its handler does not use."""
    inner = [node for statement in handler.body for node in ast.walk(statement)]
    if not handler.name or any(handler.name in _names_of(node) for node in inner):
        return ()
    assert handler.type is not None  # only an exception with a type has a name
    start = source.span(handler.type)[1]
    found = re.compile(rf"(\)?)\s+as\s+{handler.name}\s*(?=:)").match(source.body, start)
    return (Edit(start, found.end(), found[1]),) if found else ()


def _with_new_name(
    source: PythonSource, handler: ast.ExceptHandler, around: list[ast.AST], end: int
) -> RecipeFix | None:
    name = _new_name(source, handler, around)
    if name is None or handler.type is None:
        return None
    named = source.span(handler.type)[1]
    closing = re.match(r"\s*\)?", source.body[named:])
    shut = source.body.find(":", named)
    if closing is None or source.body[named:shut].strip() not in ("", ")"):
        return None
    return RecipeFix((Edit(shut, shut, f" as {name}"), Edit(end, end, f" from {name}")))


def _hides_causes(source: PythonSource) -> bool:
    """Return True if more exceptions of the file are raised `from None` than from a name."""
    causes = [node.cause for node in source.nodes if isinstance(node, ast.Raise)]
    hidden = sum(isinstance(cause, ast.Constant) for cause in causes)
    return hidden > sum(isinstance(cause, ast.Name) for cause in causes)


def _is_new(raised: ast.expr | None) -> bool:
    """Return True if an exception is made where it is raised, so it cannot have another cause."""
    if isinstance(raised, ast.Call):
        return True
    name = raised.attr if isinstance(raised, ast.Attribute) else getattr(raised, "id", "")
    return name[:1].isupper()


def _is_rebound(handler: ast.ExceptHandler) -> bool:
    return any(
        isinstance(node, ast.Name)
        and node.id == handler.name
        and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(handler)
    )


def _new_name(
    source: PythonSource, handler: ast.ExceptHandler, around: list[ast.AST]
) -> str | None:
    """Return the name that the file's handlers use most, if it is free in the function."""
    used = Counter(
        node.name
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler) and node.name in _NAMES
    )
    function = next(
        (node for node in reversed(around) if isinstance(node, FunctionNode | ast.Lambda)),
        source.tree,
    )
    wanted = [name for name, _ in used.most_common()] + list(_NAMES)
    if function is source.tree:
        wanted = [name for name in wanted if name not in source.once(_imported)]
    return next((name for name in wanted if _is_free(function, handler, name)), None)


def _imported(source: PythonSource) -> frozenset[str]:
    """Return the names that imports bind anywhere in a file."""
    return frozenset(
        (each.asname or each.name).split(".")[0]
        for node in source.nodes
        if isinstance(node, ImportNode)
        for each in node.names
    )


def _is_free(function: ast.AST, handler: ast.ExceptHandler, name: str) -> bool:
    """Return True if a handler can bind a name.

    The function may use the name only in other handlers that bind it, because it does not exist
    after them.
    """
    elsewhere = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.ExceptHandler) and node.name == name
    ]
    if any(_is_around(node, handler) for node in elsewhere):
        return False
    bound = {id(inner) for node in elsewhere for inner in ast.walk(node)}
    return not any(id(node) not in bound and name in _names_of(node) for node in ast.walk(function))


def _names_of(node: ast.AST) -> Sequence[str | None]:
    """Return the names that a node uses or binds, without those of the nodes in it."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.MatchAs(name=bound) | ast.MatchStar(name=bound) | ast.MatchMapping(rest=bound):
            return (bound,)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return names
        case ast.alias(name=name, asname=alias):
            return ((alias or name).split(".")[0],)
    return ()


def _is_around(one: ast.ExceptHandler, other: ast.ExceptHandler) -> bool:
    """Return True if one of two handlers is inside the other."""
    return any(node is other for node in ast.walk(one)) or any(
        node is one for node in ast.walk(other)
    )


def _same_but_causes(before: PythonSource, after: PythonSource) -> bool:
    return are_alike(before, after, _without_causes)


def _without_causes(statements: Statements) -> str:
    copies = deepcopy(statements)
    for node in (inner for copy in copies for inner in ast.walk(copy)):
        if isinstance(node, ast.Raise):
            node.cause = None
        elif isinstance(node, ast.ExceptHandler):
            node.name = None
    return dump(copies)


CHAINED = Recipe(codes=("B904",), fix=chain, keeps=_same_but_causes)
