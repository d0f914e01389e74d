"""Rules for the results of calls."""

from collections.abc import Callable

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EMPTY, Value, Values, exact_value, join, weaken
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.rules.declared_types import declared_values
from remora.code.callgraph.rules.points_to import evaluate, instances_of
from remora.code.callgraph.rules.stdlib_models import external_result
from remora.code.ir.model import ASYNC
from remora.code.ir.model import GENERATOR as YIELDS


def result_of_call(ctx: Context, level: int, path: str, number: int) -> Values:
    callees = ctx.read(("callee", level, path, number))
    return join([_result(ctx, level, value, (path, number)) for value, _ in callees])


def _result(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    find = _RESULTS.get(value[0], external_result)
    return find(ctx, level, value, site)


def _of_function(ctx: Context, level: int, value: Value, _site: tuple[str, int]) -> Values:
    function = value[1] if value[0] == kinds.BOUND else value
    return ctx.read(("result", level, *function[1:]))


def _of_class(_ctx: Context, _level: int, value: Value, _site: tuple[str, int]) -> Values:
    return instances_of(((value, 0),))


def _of_instance(ctx: Context, level: int, value: Value, _site: tuple[str, int]) -> Values:
    return ctx.read(("special", level, value, "__call__"))


def _of_partial(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    inner = ctx.read(("argument", level, value[1], value[2], 0))
    return weaken(join([_result(ctx, level, v, site) for v, _ in inner if v[0] != kinds.PARTIAL]))


_RESULTS: dict[str, Callable[[Context, int, Value, tuple[str, int]], Values]] = {
    kinds.FUNCTION: _of_function,
    kinds.BOUND: _of_function,
    kinds.CLASS: _of_class,
    kinds.OWN_CLASS: _of_class,
    kinds.INSTANCE: _of_instance,
    kinds.SELF: _of_instance,
    kinds.PARTIAL: _of_partial,
    kinds.IDENTITY: lambda ctx, level, _, site: ctx.read(("argument", level, *site, 0)),
}


def result(ctx: Context, level: int, path: str, scope: int) -> Values:
    if (file := ctx.definition_file(path, scope)) is None:
        return EMPTY
    flags = file.scopes[scope].flags
    if flags & YIELDS:
        return exact_value(kinds.GENERATOR, path, scope)
    if flags & ASYNC:
        return exact_value(kinds.COROUTINE, path, scope)
    return ctx.read(("returns", level, path, scope))


def returns(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Return the values that a function body returns."""
    if (file := ctx.file(path)) is None:
        return EMPTY
    found = file.scopes[scope]
    point = ProgramPoint(level, path, found.parent, found.at)
    parts = [declared_values(ctx, point, found.annotation)]
    for at, term in found.results:
        parts.append(weaken(evaluate(ctx, ProgramPoint(level, path, scope, at), term)))
    return join(parts)


def yields(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Return the elements of the generator that a function returns."""
    if (file := ctx.file(path)) is None:
        return EMPTY
    found = file.scopes[scope]
    parts = [
        weaken(evaluate(ctx, ProgramPoint(level, path, scope, at), term))
        for at, term in found.yields
    ]
    declared = declared_values(
        ctx, ProgramPoint(level, path, found.parent, found.at), found.annotation
    )
    parts.extend(ctx.read(("each", level, value)) for value, _ in declared)
    return join(parts)
