"""Exceptions raised by `raise` statements in a function body, and their conditions."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from remora.code.syntax.definitions import DEFINITIONS
from remora.code.syntax.docstring_drift import RARELY_DOCUMENTED
from remora.code.syntax.effects import exception_name, may_be_subclass, unqualified_name
from remora.operations.docstring.code_quotes import code_text, message_text, negate
from remora.operations.docstring.parts import Raise

_EXITS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class _Context(NamedTuple):
    """Context of a statement.

    `caught` contains the names of the exceptions that enclosing `try` statements handle. `reason`
    is the condition under which the statement runs. The condition uses only `names`, the names that
    are meaningful to callers.
    """

    caught: tuple[str, ...] = ()
    reason: str = ""
    names: frozenset[str] = frozenset()


def raised_exceptions(body: Sequence[ast.stmt], names: Iterable[str]) -> tuple[Raise, ...]:
    """Return each raised exception once, in source order, with its reasons joined by `or`.

    `names` contains the parameter names, because no other names in the body are meaningful to
    callers.
    """
    reasons: dict[str, list[str]] = {}
    for name, reason in _raises_in_body(body, _Context(names=frozenset(names))):
        kept = reasons.setdefault(name, [])
        if reason not in kept:
            kept.append(reason)
    return tuple(Raise(name, _join_reasons(kept)) for name, kept in reasons.items())


def _join_reasons(reasons: Sequence[str]) -> str:
    """Join reasons, as in `if A or if B`.

    Return an empty string if a reason is unknown or there are more than two reasons.
    """
    if not all(reasons) or len(reasons) > 2:
        return ""
    if len(reasons) > 1 and not all(reason.startswith("if ") for reason in reasons):
        return ""
    return " or ".join(reasons)


def _raises_in_body(body: Sequence[Any], where: _Context) -> Iterator[tuple[str, str]]:
    passed: list[ast.If] = []  # earlier `if` statements whose body always exits
    for statement in body:
        alone = isinstance(statement, ast.Raise) and passed
        yield from _raises_in_statement(
            statement, where._replace(reason=_reached_after(passed, where)) if alone else where
        )
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], _EXITS):
            passed.append(statement)


def _raises_in_statement(statement: Any, where: _Context) -> Iterator[tuple[str, str]]:
    if isinstance(statement, ast.Raise):
        yield from _raise_statement(statement, where)
    elif isinstance(statement, ast.If):
        yield from _raises_in_body(
            statement.body, where._replace(reason=_if_true(statement.test, where))
        )
        unless = where._replace(reason=_if_false(statement.test, where))
        yield from _raises_in_body(statement.orelse, unless)
    elif isinstance(statement, ast.Try | ast.TryStar):
        yield from _raises_in_try(statement, where)
    elif isinstance(statement, ast.With | ast.AsyncWith):
        yield from _raises_in_body(
            statement.body, where._replace(caught=where.caught + _suppressed_names(statement))
        )
    elif not isinstance(statement, DEFINITIONS):
        for name in ("body", "orelse", "finalbody", "cases"):
            # a loop or a case has its own condition, which is not described
            yield from _raises_in_body(
                getattr(statement, name, None) or [], where._replace(reason="")
            )


def _raise_statement(statement: ast.Raise, where: _Context) -> Iterator[tuple[str, str]]:
    name = exception_name(statement.exc)
    if name is None or name in RARELY_DOCUMENTED or statement.exc is None:
        return
    if any(may_be_subclass(name, base) for base in where.caught):
        return
    made = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    yield ast.unparse(made), _reason(statement, where)


def _reason(statement: ast.Raise, where: _Context) -> str:
    """Return the condition, or the exception's message if the condition is empty or only a name."""
    message = message_text(statement.exc, where.names)
    weak = re.fullmatch(r"if `(?:not )?\w+`", where.reason) is not None
    return message if message and (weak or not where.reason) else where.reason


def _raises_in_try(statement: Any, where: _Context) -> Iterator[tuple[str, str]]:
    caught = tuple(name for handler in statement.handlers for name in _caught_names(handler.type))
    yield from _raises_in_body(statement.body, where._replace(caught=where.caught + caught))
    for handler in statement.handlers:
        inside = where._replace(reason=_if_body_raises(statement.body, handler.type, where))
        yield from _raises_in_body(handler.body, inside)
    yield from _raises_in_body(statement.orelse, where)
    yield from _raises_in_body(statement.finalbody, where)


def _caught_names(kind: ast.expr | None) -> Iterator[str]:
    if kind is None:
        yield "BaseException"
    for each in kind.elts if isinstance(kind, ast.Tuple) else [kind]:
        if each is not None:
            yield unqualified_name(each)


def _suppressed_names(statement: ast.With | ast.AsyncWith) -> tuple[str, ...]:
    calls = [item.context_expr for item in statement.items]
    return tuple(
        unqualified_name(argument)
        for call in calls
        if isinstance(call, ast.Call) and unqualified_name(call) == "suppress"
        for argument in call.args
    )


def _if_body_raises(body: Sequence[ast.stmt], kind: ast.expr | None, where: _Context) -> str:
    """Describe a one-statement `try` block, as in ``if `int(text)` raises `ValueError` ``."""
    value = getattr(body[0], "value", None) if len(body) == 1 else None
    tried = code_text(value, where.names) if isinstance(value, ast.Call | ast.Subscript) else ""
    error = code_text(kind) if kind is not None else ""
    if not tried or not error or isinstance(kind, ast.Tuple):
        return ""
    return f"if {tried} raises {error}"


def _if_true(test: ast.expr, where: _Context) -> str:
    text = code_text(test, where.names)
    return f"if {text}" if text else ""


def _if_false(test: ast.expr, where: _Context) -> str:
    text = code_text(negate(test), where.names)
    return f"if {text}" if text else ""


def _reached_after(passed: Sequence[ast.If], where: _Context) -> str:
    """Return the condition for reaching a statement after an `if` whose body always exits.

    Return an empty string if there is more than one such `if`.
    """
    if where.reason or len(passed) != 1 or passed[0].orelse:
        return ""
    return _if_false(passed[0].test, where)
