"""Replacement of overrides with the method of a common base class if there are too many."""

from collections import Counter

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import INFERRED, Value, Values
from remora.code.callgraph.analysis_context import Context

_MAX_METHODS = 5


def limit_dispatch(ctx: Context, values: Values, *, polymorphic: bool) -> Values:
    """Limit the number of inferred methods.

    If `polymorphic` is True, methods of `self` are not limited.
    """
    receivers = {kinds.INSTANCE} if polymorphic else {kinds.INSTANCE, kinds.SELF}
    inferred = [v for v, tier in values if tier and v[0] == kinds.BOUND and v[2][0] in receivers]
    if len({value[1] for value in inferred}) <= _MAX_METHODS:
        return values
    found = dict(values)
    for name in sorted({_method_name(ctx, value) for value in inferred}):
        _merge_overrides(
            ctx, [value for value in inferred if _method_name(ctx, value) == name], name, found
        )
    return tuple(found.items())


def _method_name(ctx: Context, value: Value) -> str:
    file = ctx.definition_file(value[1][1], value[1][2])
    return "" if file is None else file.scopes[value[1][2]].name


def _merge_overrides(ctx: Context, bound: list[Value], name: str, found: dict[Value, int]) -> None:
    """Replace the overrides with the method of their most common base if there are too many."""
    orders = {value: [v for v, _ in ctx.solve(("mro", *value[2][1:]))] for value in bound}
    shared = Counter(v for order in orders.values() for v in order if v[0] == kinds.CLASS)
    ranked = sorted(shared, key=lambda v: (-shared[v], -len(ctx.solve(("mro", *v[1:]))), v))
    bases = [(base, _class_method(ctx, base, name)) for base in ranked]
    base, method = next(((b, m) for b, m in bases if m is not None), (None, None))
    overrides = [value for value in bound if base in orders[value]]
    if base is None or method is None or len({value[1] for value in overrides}) <= _MAX_METHODS:
        return
    for value in overrides:
        del found[value]
    merged: Value = (kinds.BOUND, method, (kinds.INSTANCE, *base[1:]))
    found[merged] = min(INFERRED, found.get(merged, INFERRED))


def _class_method(ctx: Context, owner: Value, name: str) -> Value | None:
    values = ctx.solve(("class_attribute", 0, *owner[1:], name))
    return next((value for value, _ in values if value[0] == kinds.FUNCTION), None)
