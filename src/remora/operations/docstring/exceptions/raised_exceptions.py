"""Exceptions raised by `raise` statements in a function body, and their conditions."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from remora.code.syntax.definitions import DEFINITIONS
from remora.code.syntax.docstring_drift import RARELY_DOCUMENTED
from remora.code.syntax.effects import exception_name, may_be_subclass, own_nodes, unqualified_name
from remora.operations.docstring.exceptions.condition_text import both_text, condition_text
from remora.operations.docstring.parts import Raise

_LEAVES = (ast.Return, ast.Continue, ast.Break)
_MAX_REASONS = 2


class _Context(NamedTuple):
    """Context of a statement.

    `caught` contains the names of the exceptions that enclosing `try` statements handle. `tests`
    contains the conditions under which the statement runs, in English; an unknown condition is an
    empty string. `names` are the names that mean the same to callers.
    """

    caught: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()

    def under(self, test: ast.expr, *, negated: bool = False) -> "_Context":
        return self._replace(tests=(*self.tests, condition_text(test, self.names, negated=negated)))

    @property
    def unknown(self) -> "_Context":
        return self._replace(tests=("",))


def raised_exceptions(body: Sequence[ast.stmt], names: Iterable[str]) -> tuple[Raise, ...]:
    """Return each raised exception once, in source order, with its conditions joined by `or`.

    `names` contains the parameter names, because no other names in the body are meaningful to
    callers. Parameters that are assigned in the body are left out.
    """
    nodes = list(own_nodes(body))
    if not any(isinstance(each, ast.Raise) for each in nodes):
        return ()
    assigned = {
        each.id
        for each in nodes
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store | ast.Del)
    }
    reasons: dict[str, list[str]] = {}
    for name, reason in _raises_in_body(body, _Context(names=frozenset(names) - assigned)):
        kept = reasons.setdefault(name, [])
        if reason not in kept:
            kept.append(reason)
    return tuple(Raise(name, _join_reasons(kept)) for name, kept in reasons.items())


def _join_reasons(reasons: Sequence[str]) -> str:
    """Join conditions, as in `if A or if B`.

    Return an empty string if a condition is unknown or there are more than two.
    """
    if not all(reasons) or len(reasons) > _MAX_REASONS:
        return ""
    if len(reasons) > 1 and any(word in each for each in reasons for word in (" and ", " or ")):
        return ""
    return f"if {' or if '.join(reasons)}"


def _raises_in_body(body: Sequence[Any], where: _Context) -> Iterator[tuple[str, str]]:
    for statement in body:
        yield from _raises_in_statement(statement, where)
        where = _after(statement, where)


def _after(statement: Any, where: _Context) -> _Context:
    """Return the context of the statements after `statement`, which may leave the function."""
    is_guard = isinstance(statement, ast.If) and not statement.orelse
    if is_guard and isinstance(statement.body[-1], ast.Raise):
        return where  # if this one does not raise, the other conditions decide
    if not any(isinstance(each, _LEAVES) for each in own_nodes([statement])):
        return where
    if is_guard and not where.tests and isinstance(statement.body[-1], _LEAVES):
        return where.under(statement.test, negated=True)
    return where.unknown


def _raises_in_statement(statement: Any, where: _Context) -> Iterator[tuple[str, str]]:
    if isinstance(statement, ast.Raise):
        yield from _raise_statement(statement, where)
    elif isinstance(statement, ast.If):
        yield from _raises_in_body(statement.body, where.under(statement.test))
        yield from _raises_in_body(statement.orelse, where.under(statement.test, negated=True))
    elif isinstance(statement, ast.Try | ast.TryStar):
        yield from _raises_in_try(statement, where)
    elif isinstance(statement, ast.With | ast.AsyncWith):
        yield from _raises_in_body(
            statement.body, where._replace(caught=where.caught + _suppressed_names(statement))
        )
    elif not isinstance(statement, DEFINITIONS):
        for name in ("body", "orelse", "finalbody", "cases"):
            # a loop or a case has its own condition, which is not described
            yield from _raises_in_body(getattr(statement, name, None) or [], where.unknown)


def _raise_statement(statement: ast.Raise, where: _Context) -> Iterator[tuple[str, str]]:
    name = exception_name(statement.exc)
    if name is None or name in RARELY_DOCUMENTED or statement.exc is None:
        return
    if any(may_be_subclass(name, base) for base in where.caught):
        return
    made = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    yield ast.unparse(made), both_text(where.tests) if where.tests else ""


def _raises_in_try(statement: Any, where: _Context) -> Iterator[tuple[str, str]]:
    caught = tuple(name for handler in statement.handlers for name in _caught_names(handler.type))
    yield from _raises_in_body(statement.body, where._replace(caught=where.caught + caught))
    for handler in statement.handlers:
        yield from _raises_in_body(handler.body, where.unknown)
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
