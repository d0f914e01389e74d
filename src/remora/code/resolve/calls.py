"""Calls: what is called, what it gives back, and what its parameters are given."""

from collections.abc import Callable
from typing import Any

from remora.code.lowered import (
    ANNOTATED,
    ASYNC,
    CLASS_SCOPE,
    KEYWORD,
    KWARGS,
    ORDINARY,
    STAR,
    VARARGS,
    Call,
    Parameter,
)
from remora.code.lowered import (
    GENERATOR as YIELDS,
)
from remora.code.resolve.candidates import call_sites
from remora.code.resolve.classes import own_value
from remora.code.resolve.context import Context, Place
from remora.code.resolve.files import PARAMETER, File
from remora.code.resolve.fixtures import handed
from remora.code.resolve.foreign import foreign_result
from remora.code.resolve.overloads import chosen
from remora.code.resolve.terms import evaluate, instances
from remora.code.resolve.types import declared
from remora.code.resolve.values import (
    BOUND,
    CLASS,
    COROUTINE,
    EMPTY,
    FUNCTION,
    GENERATOR,
    INSTANCE,
    OWN_CLASS,
    PARTIAL,
    REST,
    SELF,
    WRAPS,
    Value,
    Values,
    join,
    one,
    weaken,
)

SITE = "site"  # path, call, how much further a parameter stands than its argument
_CONTAINING = frozenset((VARARGS, KWARGS))


def callee(ctx: Context, level: int, path: str, number: int) -> Values:
    """Rule: what the call with that number calls."""
    file = ctx.file(path)
    if file is None:
        return EMPTY
    call = file.lowered.calls[number]
    return evaluate(ctx, Place(level, path, call.scope, call.at), call.callee)


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
    return join((ctx.read(("result", level, *value[1:])), _passed(ctx, level, value, site, 0)))


def _of_bound(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    inner = value[1]
    promised = chosen(ctx, inner, site, 1)
    if promised is not None:
        return _own(ctx, promised, value[2])
    given = _passed(ctx, level, inner, site, 1)
    return join((_own(ctx, ctx.read(("result", level, *inner[1:])), value[2]), given))


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
    """What a method gives, where it gives an instance of its own class: one of the receiver's."""
    if not any(value[0] == SELF for value, _ in values):
        return values
    kind = SELF if receiver[0] in {SELF, OWN_CLASS} else INSTANCE
    above = _above(ctx, receiver)
    found: dict[Value, int] = {}
    for value, tier in values:
        same = value[0] == SELF and value[1:] in above
        found[(kind, receiver[1], receiver[2]) if same else value] = tier
    return tuple(found.items())


def _passed(ctx: Context, level: int, value: Value, site: tuple[str, int], offset: int) -> Values:
    """What a function gives back of what this very call passes to it."""
    file = ctx.file(value[1])
    if file is None or file.scopes[value[2]].flags:
        return EMPTY
    scope = file.scopes[value[2]]
    found = []
    for at, term in scope.results:
        seen = file.lookup(value[2], term, at) if isinstance(term, str) else ()
        if any(s.bind == PARAMETER and s.scope == value[2] for s in seen):
            names = [param.name for param in scope.params]
            if offset and names[0] == term:
                continue
            found.append(_argument(ctx, level, scope.params, names.index(term), (*site, offset)))
    return weaken(join(found))


def result(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Rule: what a call of the function gives: its results, or a generator or coroutine."""
    file = ctx.file(path)
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


def parameter(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Rule: what a parameter may be: self, what its annotation says, its default, its arguments."""
    file = ctx.file(path)
    if file is None:
        return EMPTY
    found = file.scopes[scope]
    index = next(i for i, param in enumerate(found.params) if param.name == name)
    param = found.params[index]
    if index == 0:
        own = own_value(ctx, path, scope)
        if own:
            return own
    if param.kind in _CONTAINING:
        return one(REST, path, scope, name)
    around = Place(level, path, found.parent, found.at)
    promised = declared(ctx, around, param.annotation)
    given = _arguments(ctx, level, file, scope, index)
    if promised:
        return join((promised, _narrower(ctx, promised, join(given))))
    given.append(handed(ctx, level, file, scope, name))
    return join((weaken(evaluate(ctx, around, param.default)), *given))


def _narrower(ctx: Context, promised: Values, given: Values) -> Values:
    """Of what is passed, instances of classes that derive from a declared one."""
    bases = {value[1:] for value, _ in promised if value[0] == INSTANCE}
    if not bases:
        return EMPTY
    return tuple(
        pair for pair in given if pair[0][0] in {INSTANCE, SELF} and _above(ctx, pair[0]) & bases
    )


def _above(ctx: Context, value: Value) -> set[tuple[Any, ...]]:
    """Places of the class and of all from which it derives."""
    return {v[1:] for v, _ in ctx.read(("mro", value[1], value[2])) if v[0] == CLASS}


def _arguments(ctx: Context, level: int, file: File, scope: int, index: int) -> list[Values]:
    if level <= 0:
        return []
    sites = ctx.read(("sites", level - 1, file.path, scope))
    params = file.scopes[scope].params
    return [weaken(_argument(ctx, level - 1, params, index, site[1:])) for site, _ in sites]


def field(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Rule: what the field of a dataclass is given where instances are made."""
    file = ctx.file(path)
    if file is None or level <= 0:
        return EMPTY
    binds = file.scopes[scope].binds.items()
    fields = [field for field, found in binds if found[0].kind == ANNOTATED]
    if name not in fields:
        return EMPTY
    params = tuple([Parameter(field, ORDINARY, None, None) for field in fields])
    found = []
    for site, _ in ctx.read(("sites", level - 1, path, scope)):
        found.append(_argument(ctx, level - 1, params, fields.index(name), site[1:]))
    return weaken(join(found))


def _argument(
    ctx: Context,
    level: int,
    params: tuple[Parameter, ...],
    index: int,
    site: tuple[str, int, int],
) -> Values:
    """What the call at `site` passes for the parameter with that index."""
    path, number, offset = site
    file = ctx.file(path)
    if file is None:
        return EMPTY
    call = file.lowered.calls[number]
    place = Place(level, path, call.scope, call.at)
    param = params[index]
    found = []
    for keyword, term in call.keywords:
        if keyword == param.name:
            found.append(evaluate(ctx, place, term))
        elif keyword is None:
            held = evaluate(ctx, place, term)
            found.extend(ctx.read(("item", level, value, param.name)) for value, _ in held)
    if param.kind != KEYWORD and not found:
        found.append(_positional(ctx, place, call, index - offset))
    return join(found)


def _positional(ctx: Context, place: Place, call: Call, index: int) -> Values:
    for position, term in enumerate(call.args):
        if isinstance(term, list | tuple) and term[0] == STAR:
            held = evaluate(ctx, place, term[1])
            wanted = index - position
            return join([ctx.read(("item", place.level, v, wanted)) for v, _ in held])
        if position == index:
            return evaluate(ctx, place, term)
    return EMPTY


def argument(ctx: Context, level: int, path: str, number: int, index: int) -> Values:
    """Rule: the positional argument `index` of a call."""
    file = ctx.file(path)
    if file is None:
        return EMPTY
    call = file.lowered.calls[number]
    return _positional(ctx, Place(level, path, call.scope, call.at), call, index)


def rest(ctx: Context, level: int, value: Value, key: Any) -> Values:
    """What `*args` or `**kwargs` of a function hold; `key` null for anything in it."""
    _, path, scope, name = value
    file = ctx.file(path)
    if file is None:
        return EMPTY
    params = file.scopes[scope].params
    index = next(i for i, param in enumerate(params) if param.name == name)
    param = params[index]
    around = Place(level, path, file.scopes[scope].parent, file.scopes[scope].at)
    found = [declared(ctx, around, param.annotation)]
    if level > 0:
        named = {p.name for p in params}
        for site, _ in ctx.read(("sites", level - 1, path, scope)):
            found.extend(
                _surplus(ctx, level - 1, site[1:], (index, param.kind == KWARGS, key), named)
            )
    return weaken(join(found))


def _surplus(
    ctx: Context,
    level: int,
    site: tuple[str, int, int],
    wanted: tuple[int, bool, Any],
    named: set[str],
) -> list[Values]:
    path, number, offset = site
    index, by_name, key = wanted
    file = ctx.file(path)
    if file is None:
        return []
    call = file.lowered.calls[number]
    place = Place(level, path, call.scope, call.at)
    if by_name:
        return [
            evaluate(ctx, place, term)
            for name, term in call.keywords
            if name is not None and name not in named and key in {None, name}
        ]
    first = index - offset
    if isinstance(key, int) and key >= 0:
        return [_positional(ctx, place, call, first + key)]
    return [evaluate(ctx, place, term) for term in call.args[max(0, first) :]]


def sites(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Rule: the calls that prove to call the function; nothing where too many look like it."""
    file = ctx.file(path)
    if file is None:
        return EMPTY
    kind = CLASS if file.scopes[scope].kind == CLASS_SCOPE else FUNCTION
    target: Value = (kind, path, scope)
    found: dict[Value, int] = {}
    for other, number in call_sites(ctx, file, scope):
        for value, tier in ctx.read(("callee", level, other, number)):
            offset = _offset(ctx, level, value, target)
            if offset is not None:
                found[(SITE, other, number, offset)] = tier
    return tuple(sorted(found.items()))


def _offset(ctx: Context, level: int, value: Value, target: Value) -> int | None:
    """How much further a parameter of `target` stands than its argument; None: not called."""
    if value == target:
        return 0
    if value[0] == BOUND:
        return 1 if value[1] == target else None
    if value[0] in {CLASS, OWN_CLASS}:
        made = ctx.read(("class_attribute", 0, value[1], value[2], "__init__"))
        return 1 if any(v == target for v, _ in made) else None
    if value[0] == PARTIAL:
        file = ctx.file(value[1])
        given = len(file.lowered.calls[value[2]].args) - 1 if file is not None else 0
        held = ctx.read(("argument", level, value[1], value[2], 0))
        inner = [_offset(ctx, level, v, target) for v, _ in held if v[0] != PARTIAL]
        return next((o + given for o in inner if o is not None), None)
    return None
