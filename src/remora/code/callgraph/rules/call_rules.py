"""Calls: what is called, what it gives back, and what its parameters are given."""

from typing import Any

from remora.code.callgraph.abstract_values import (
    BOUND,
    BUILT,
    CLASS,
    CONTAINER,
    EMPTY,
    FUNCTION,
    INSTANCE,
    OPAQUE,
    OWN_CLASS,
    PARTIAL,
    REST,
    SELF,
    Value,
    Values,
    join,
    one,
    weaken,
)
from remora.code.callgraph.context import Context, Place
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.names.name_candidates import call_sites
from remora.code.callgraph.rules.class_attributes import own_value
from remora.code.callgraph.rules.declared_types import CONTAINERS, declared
from remora.code.callgraph.rules.evaluation import evaluate
from remora.code.callgraph.rules.fixture_parameters import handed
from remora.code.ir.model import (
    ANNOTATED,
    CLASS_SCOPE,
    KEYWORD,
    KWARGS,
    ORDINARY,
    STAR,
    VARARGS,
    Call,
    Parameter,
    unqualified_name,
)

SITE = "site"  # path, call, how much further a parameter stands than its argument
_CONTAINING = frozenset((VARARGS, KWARGS))
_HOLDERS = frozenset((CONTAINER, BUILT))


def callee(ctx: Context, level: int, path: str, number: int) -> Values:
    """Rule: what the call with that number calls."""
    call = ctx.call(path, number)
    if call is None:
        return EMPTY
    return evaluate(ctx, Place(level, path, call.scope, call.at), call.callee)


def parameter(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Rule: what a parameter may be: self, what its annotation says, its default, its arguments."""
    file = ctx.head(path, scope)
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
    """Of what is passed, what tells more than the declared type: instances of derived classes, and
    what holds values; everything where the type is an alias of something from outside."""
    bases = {value[1:] for value, _ in promised if value[0] == INSTANCE}
    outside = [value[1:] for value, _ in promised if value[0] == OPAQUE]
    if () in outside:
        return given
    holders = any(unqualified_name(name) in CONTAINERS for (name,) in outside)
    return tuple(
        pair
        for pair in given
        if (bases and pair[0][0] in {INSTANCE, SELF} and above(ctx, pair[0]) & bases)
        or (holders and pair[0][0] in _HOLDERS)
    )


def above(ctx: Context, value: Value) -> set[tuple[Any, ...]]:
    """Places of the class and of all from which it derives."""
    return {v[1:] for v, _ in ctx.read(("mro", value[1], value[2])) if v[0] == CLASS}


def _arguments(ctx: Context, level: int, file: File, scope: int, index: int) -> list[Values]:
    if level <= 0:
        return []
    sites = ctx.read(("sites", level - 1, file.path, scope))
    params = file.scopes[scope].params
    return [weaken(argument_at(ctx, level - 1, params, index, site[1:])) for site, _ in sites]


def field(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Rule: what the field of a dataclass is given where instances are made."""
    file = ctx.around(path, scope)
    if file is None or level <= 0:
        return EMPTY
    binds = file.scopes[scope].binds.items()
    fields = [field for field, found in binds if found[0].kind == ANNOTATED]
    if name not in fields:
        return EMPTY
    params = tuple([Parameter(field, ORDINARY, None, None) for field in fields])
    found = []
    for site, _ in ctx.read(("sites", level - 1, path, scope)):
        found.append(argument_at(ctx, level - 1, params, fields.index(name), site[1:]))
    return weaken(join(found))


def argument_at(
    ctx: Context,
    level: int,
    params: tuple[Parameter, ...],
    index: int,
    site: tuple[str, int, int],
) -> Values:
    """What the call at `site` passes for the parameter with that index."""
    path, number, offset = site
    call = ctx.call(path, number)
    if call is None:
        return EMPTY
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
    call = ctx.call(path, number)
    if call is None:
        return EMPTY
    return _positional(ctx, Place(level, path, call.scope, call.at), call, index)


def rest(ctx: Context, level: int, value: Value, key: Any) -> Values:
    """What `*args` or `**kwargs` of a function hold; `key` null for anything in it."""
    _, path, scope, name = value
    file = ctx.head(path, scope)
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
    call = ctx.call(path, number)
    if call is None:
        return []
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
    file = ctx.head(path, scope)
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
        made_by = ctx.call(value[1], value[2])
        given = len(made_by.args) - 1 if made_by is not None else 0
        held = ctx.read(("argument", level, value[1], value[2], 0))
        inner = [_offset(ctx, level, v, target) for v, _ in held if v[0] != PARTIAL]
        return next((o + given for o in inner if o is not None), None)
    return None
