"""What a call gives back: what its function returns, and what of it this very call passes."""

from collections.abc import Callable
from typing import Any

from remora.code.callgraph.abstract_values import (
    BOUND,
    CLASS,
    COROUTINE,
    EMPTY,
    FUNCTION,
    GENERATOR,
    INSTANCE,
    OWN_CLASS,
    PARTIAL,
    SELF,
    WRAPS,
    Value,
    Values,
    join,
    one,
    weaken,
)
from remora.code.callgraph.context import Context, Place
from remora.code.callgraph.files.ir_index import PARAMETER
from remora.code.callgraph.rules.call_rules import above, argument_at
from remora.code.callgraph.rules.class_attributes import own_value
from remora.code.callgraph.rules.declared_types import declared
from remora.code.callgraph.rules.evaluation import evaluate, instances
from remora.code.callgraph.rules.overloads import chosen
from remora.code.callgraph.rules.return_flow import AS_IS, MADE, given_term
from remora.code.callgraph.rules.stdlib_models import foreign_result
from remora.code.ir.model import ASYNC
from remora.code.ir.model import GENERATOR as YIELDS


def result_of_call(ctx: Context, level: int, path: str, number: int) -> Values:
    """Rule: what the call with that number gives back."""
    found = []
    for value, _ in ctx.read(("callee", level, path, number)):
        found.append(_result(ctx, level, value, (path, number)))
    return join(found)


def _result(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    found = _RESULTS.get(value[0], foreign_result)
    return found(ctx, level, value, site)


def _of_function(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    promised = chosen(ctx, value, site, 0)
    if promised is not None:
        return promised
    return _returned(ctx, level, value, (*site, 0))


def _of_bound(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    inner = value[1]
    promised = chosen(ctx, inner, site, 1)
    if promised is not None:
        return _own(ctx, promised, value[2])
    return _own(ctx, _returned(ctx, level, inner, (*site, 1)), value[2])


def _returned(ctx: Context, level: int, value: Value, site: tuple[str, int, int]) -> Values:
    """What a function gives: what this call passes to it of that, and what it makes, but for what
    a class that is passed stands in for."""
    returned = ctx.read(("result", level, *value[1:]))
    file, call = ctx.head(value[1], value[2]), ctx.call(site[0], site[1])
    passed = ctx.read(("passes", *value[1:]))
    if file is None or call is None or not passed:
        return returned
    params = file.scopes[value[2]].params
    ways: tuple[list[Values], ...] = ([], [])
    classes: set[Any] = set()
    for (_, name, how), _ in passed:
        index = next(i for i, param in enumerate(params) if param.name == name)
        if index < site[2]:
            continue  # the first one of a method is its own instance
        ways[how].append(argument_at(ctx, level, params, index, site))
        term = given_term(call, index - site[2], name)
        if how == MADE and term is not None:
            classes |= _classes(ctx, Place(0, site[0], call.scope, call.at), term)
    replaced = {base for own in classes for base in above(ctx, (CLASS, *own)) if base != own}
    kept = [p for p in returned if p[0][0] not in {INSTANCE, SELF} or p[0][1:] not in replaced]
    given = join((*ways[AS_IS], instances(join(ways[MADE]))))
    return join((tuple(kept), weaken(given)))


def _classes(ctx: Context, place: Place, term: Any) -> set[Any]:
    """Places of the classes that an argument names, or makes an instance of. It is asked without
    callers: what a loop hands on comes and goes, and nothing may be left out for that."""
    made = ctx.read(("callee", 0, place.path, term)) if isinstance(term, int) else EMPTY
    return {v[1:] for v, _ in join((made, evaluate(ctx, place, term))) if v[0] == CLASS}


def _of_class(_ctx: Context, _level: int, value: Value, _site: tuple[str, int]) -> Values:
    return instances(((value, 0),))


def _of_instance(ctx: Context, level: int, value: Value, _site: tuple[str, int]) -> Values:
    return ctx.read(("special", level, value, "__call__"))


def _of_partial(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    held = ctx.read(("argument", level, value[1], value[2], 0))
    return weaken(join([_result(ctx, level, v, site) for v, _ in held if v[0] != PARTIAL]))


def _of_wraps(ctx: Context, level: int, _value: Value, site: tuple[str, int]) -> Values:
    return ctx.read(("argument", level, site[0], site[1], 0))


_RESULTS: dict[str, Callable[[Context, int, Value, tuple[str, int]], Values]] = {
    FUNCTION: _of_function,
    BOUND: _of_bound,
    CLASS: _of_class,
    OWN_CLASS: _of_class,
    INSTANCE: _of_instance,
    SELF: _of_instance,
    PARTIAL: _of_partial,
    WRAPS: _of_wraps,
}


def _own(ctx: Context, values: Values, receiver: Value) -> Values:
    """What a method gives, where it gives an instance of its own class: one of the receiver's, and
    no plain one of a class above beside it."""
    order = above(ctx, receiver)
    if not any(value[0] == SELF and value[1:] in order for value, _ in values):
        return values
    kind = SELF if receiver[0] in {SELF, OWN_CLASS} else INSTANCE
    found: dict[Value, int] = {}
    for value, tier in values:
        if value[0] == SELF and value[1:] in order:
            found[kind, receiver[1], receiver[2]] = tier
        elif value[0] != INSTANCE or value[1:] not in order:
            found[value] = tier
    return tuple(found.items())


def result(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Rule: what a call of the function gives: its results, or a generator or coroutine."""
    file = ctx.head(path, scope)
    if file is None:
        return EMPTY
    flags = file.scopes[scope].flags
    if flags & YIELDS:
        return one(GENERATOR, path, scope)
    if flags & ASYNC:
        return one(COROUTINE, path, scope)
    return ctx.read(("returns", level, path, scope))


def returns(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Rule: what the function's own code returns; its parameters themselves aside."""
    file = ctx.file(path)
    if file is None:
        return EMPTY
    found = file.scopes[scope]
    if ctx.read(("passes", path, scope)):
        level = 0  # what is passed counts where it is passed
    parts = [declared(ctx, Place(level, path, found.parent, found.at), found.annotation)]
    own = own_value(ctx, path, scope)
    for at, term in found.results:
        if isinstance(term, str):
            seen = file.lookup(scope, term, at)
            binds = [s for s in seen if s.bind != PARAMETER or s.scope != scope]
            if len(binds) != len(seen):
                first = bool(own) and term == found.params[0].name
                parts.append(own if first and found.name != "__new__" else EMPTY)
                parts.extend(ctx.read(("bind", level, path, *s)) for s in binds)
                continue
        parts.append(weaken(evaluate(ctx, Place(level, path, scope, at), term)))
    return join(parts)


def yields(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Rule: what iterating over a generator of the function gives."""
    file = ctx.file(path)
    if file is None:
        return EMPTY
    found = file.scopes[scope]
    parts = [
        weaken(evaluate(ctx, Place(level, path, scope, at), term)) for at, term in found.yields
    ]
    promised = declared(ctx, Place(level, path, found.parent, found.at), found.annotation)
    parts.extend(ctx.read(("each", level, value)) for value, _ in promised)
    return join(parts)
