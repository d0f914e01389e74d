"""Exceptions raised by `raise` statements in a function body."""

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from remora.code.syntax.definitions import DEFINITIONS
from remora.code.syntax.docstring_drift import RARELY_DOCUMENTED
from remora.code.syntax.effects import exception_name, may_be_subclass, unqualified_name


def raised_exceptions(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Return the name of each raised exception as in the code, once and in source order.

    Those that a `try` or `suppress` around them may catch are left out.
    """
    return tuple(dict.fromkeys(_raised(body, ())))


def _raised(body: Sequence[Any], caught: tuple[str, ...]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.Raise):
            yield from _names(statement, caught)
        elif isinstance(statement, ast.Try | ast.TryStar):
            handled = (name for handler in statement.handlers for name in _caught(handler.type))
            yield from _raised(statement.body, (*caught, *handled))
            rest = [*statement.handlers, *statement.orelse, *statement.finalbody]
            yield from _raised(rest, caught)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            yield from _raised(statement.body, (*caught, *_suppressed(statement)))
        elif not isinstance(statement, DEFINITIONS):
            for name in ("body", "orelse", "cases"):
                yield from _raised(getattr(statement, name, None) or [], caught)


def _names(statement: ast.Raise, caught: tuple[str, ...]) -> Iterator[str]:
    name = exception_name(statement.exc)
    if name is None or name in RARELY_DOCUMENTED or statement.exc is None:
        return
    if any(may_be_subclass(name, base) for base in caught):
        return
    yield ast.unparse(statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc)


def _caught(kind: ast.expr | None) -> Iterator[str]:
    if kind is None:
        yield "BaseException"
    for each in kind.elts if isinstance(kind, ast.Tuple) else [kind]:
        if each is not None:
            yield unqualified_name(each)


def _suppressed(statement: ast.With | ast.AsyncWith) -> tuple[str, ...]:
    calls = [item.context_expr for item in statement.items]
    return tuple(
        unqualified_name(argument)
        for call in calls
        if isinstance(call, ast.Call) and unqualified_name(call) == "suppress"
        for argument in call.args
    )
