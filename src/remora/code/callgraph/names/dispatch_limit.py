"""Receivers of too many classes: of their methods, the one that their common base has."""

from collections import Counter

from remora.code.callgraph.abstract_values import (
    BOUND,
    CLASS,
    FUNCTION,
    INFERRED,
    INSTANCE,
    SELF,
    Value,
    Values,
)
from remora.code.callgraph.context import Context

_MOST = 5


def narrowed(ctx: Context, values: Values, *, of_any: bool) -> Values:
    """The same, with one method of a common base in place of too many that are guessed.

    With `of_any`, a method of `self`, or of a parameter that is annotated, may be that of each class
    that overrides it, however many they are.
    """
    kinds = {INSTANCE} if of_any else {INSTANCE, SELF}
    spread = [v for v, tier in values if tier and v[0] == BOUND and v[2][0] in kinds]
    if len({value[1] for value in spread}) <= _MOST:
        return values
    found = dict(values)
    for name in sorted({_name(ctx, value) for value in spread}):
        _narrow(ctx, [value for value in spread if _name(ctx, value) == name], name, found)
    return tuple(found.items())


def _name(ctx: Context, value: Value) -> str:
    file = ctx.head(value[1][1], value[1][2])
    return "" if file is None else file.scopes[value[1][2]].name


def _narrow(ctx: Context, bound: list[Value], name: str, found: dict[Value, int]) -> None:
    """Replace those that derive from the class that most have in common, if they are too many."""
    above = {value: [v for v, _ in ctx.solve(("mro", *value[2][1:]))] for value in bound}
    shared = Counter(v for order in above.values() for v in order if v[0] == CLASS)
    order = sorted(shared, key=lambda v: (-shared[v], -len(ctx.solve(("mro", *v[1:]))), v))
    bases = [(base, _method(ctx, base, name)) for base in order]
    base, method = next(((b, m) for b, m in bases if m is not None), (None, None))
    below = [value for value in bound if base in above[value]]
    if base is None or method is None or len({value[1] for value in below}) <= _MOST:
        return
    for value in below:
        del found[value]
    made: Value = (BOUND, method, (INSTANCE, *base[1:]))
    found[made] = min(INFERRED, found.get(made, INFERRED))


def _method(ctx: Context, owner: Value, name: str) -> Value | None:
    values = ctx.solve(("class_attribute", 0, *owner[1:], name))
    return next((value for value, _ in values if value[0] == FUNCTION), None)
