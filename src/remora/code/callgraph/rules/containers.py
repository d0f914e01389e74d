"""What is in containers, and what iterating, entering or subscripting a value gives."""

from collections.abc import Callable
from typing import Any

from remora.code.callgraph.abstract_values import (
    BUILT,
    CONTAINER,
    EMPTY,
    EXTERNAL,
    GENERATOR,
    INSTANCE,
    OPAQUE,
    PAIR,
    REST,
    SELF,
    TYPED,
    Value,
    Values,
    join,
    one,
    weaken,
)
from remora.code.callgraph.context import Context, Place
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.rules.call_rules import rest
from remora.code.callgraph.rules.evaluation import awaited, evaluate
from remora.code.ir.model import STAR, Container

_MANAGERS = frozenset(("contextmanager", "asynccontextmanager"))


def item(ctx: Context, level: int, value: Value, key: Any) -> Values:
    """Rule: `value[key]`; `key` is null where it is not constant."""
    found = _ITEMS.get(value[0])
    return EMPTY if found is None else weaken(found(ctx, level, value, key))


def each(ctx: Context, level: int, value: Value) -> Values:
    """Rule: what iterating over the value gives."""
    if value[0] in {INSTANCE, SELF}:
        iterators = ctx.read(("special", level, value, "__iter__"))
        found = [ctx.read(("each", level, v)) for v, _ in iterators if v[0] not in {INSTANCE, SELF}]
        for iterator, _ in (*iterators, (value, 0)):
            if iterator[0] in {INSTANCE, SELF}:
                found.append(ctx.read(("special", level, iterator, "__next__")))
        return weaken(join(found))
    if value[0] == GENERATOR:
        return ctx.read(("yields", level, value[1], value[2]))
    return item(ctx, level, value, None)


def entered(ctx: Context, level: int, value: Value, waits: bool) -> Values:
    """Rule: what `with value as …` binds."""
    if value[0] in {INSTANCE, SELF}:
        own = ctx.read(("special", level, value, "__aenter__" if waits else "__enter__"))
        return awaited(ctx, level, own) if waits else own
    if value[0] == GENERATOR:
        file = ctx.head(value[1], value[2])
        if file is not None and file.decorations(value[2]) & _MANAGERS:
            return ctx.read(("yields", level, value[1], value[2]))
    return one(OPAQUE) if value[0] in {EXTERNAL, OPAQUE} else EMPTY


def _display(ctx: Context, level: int, value: Value, key: Any) -> Values:
    file = ctx.file(value[1])
    if file is None:
        return EMPTY
    held = file.lowered.containers[value[2]]
    place = Place(level, value[1], held.scope, held.at)
    terms = [term for term, _ in _matching(held, key)]
    found = [evaluate(ctx, place, term) for term in terms]
    return join((*found, *_filled(ctx, level, file, (True, value[2]), key)))


def _matching(held: Container, key: Any) -> list[tuple[Any, Any]]:
    """The items that `key` may mean, each with its own key."""
    if held.keys is not None:
        pairs = list(zip(held.items, held.keys, strict=True))
        return [p for p in pairs if key is None or p[1] is None or p[1] == key]
    every = [(term, None) for term in held.items]
    starred = any(_is_star(term) for term, _ in every)
    if isinstance(key, int) and not held.each and not starred and -len(every) <= key < len(every):
        return [every[key]]
    return every


def _is_star(term: Any) -> bool:
    return isinstance(term, list | tuple) and term[0] == STAR


def _filled(ctx: Context, level: int, file: File, site: tuple[bool, int], key: Any) -> list[Values]:
    """What is put into the container later, through the variables it is assigned to."""
    found = []
    for home in file.homes.get(site, ()):
        for fill in file.fills_of.get(home, ()):
            if key is None or fill.key is None or fill.key == key:
                place = Place(level, file.path, fill.scope, fill.at)
                found.append(evaluate(ctx, place, fill.term))
    return found


def _built(ctx: Context, level: int, value: Value, key: Any) -> Values:
    _, path, number = value
    file = ctx.file(path)
    if file is None:
        return EMPTY
    call = file.lowered.calls[number]
    name = file.written(call.callee)
    place = Place(level, path, call.scope, call.at)
    filled = _filled(ctx, level, file, (False, number), key)
    if name == "defaultdict" and call.args:
        made = ctx.read(("argument", level, path, number, 0))
        filled.append(_made(ctx, level, made))
    if name == "dict":
        filled.extend(
            evaluate(ctx, place, term)
            for keyword, term in call.keywords
            if keyword is not None and (key is None or key == keyword)
        )
    if name == "map":
        filled.append(_mapped(ctx, level, path, number))
    elif name in {"zip", "enumerate"}:
        filled.append(one(PAIR, (BUILT, path, number)))
    else:
        terms = call.args[1:] if name in {"filter", "defaultdict"} else call.args
        for term in terms:
            held = evaluate(ctx, place, term)
            filled.extend(ctx.read(("each", level, v)) for v, _ in held)
    return join(filled)


def _made(ctx: Context, level: int, factories: Values) -> Values:
    found: list[Values] = []
    for value, _ in factories:
        if value[0] == "class":
            found.append(one(INSTANCE, *value[1:]))
        elif value[0] == "function":
            found.append(ctx.read(("result", level, value[1], value[2])))
    return join(found)


def _mapped(ctx: Context, level: int, path: str, number: int) -> Values:
    return _made(ctx, level, ctx.read(("argument", level, path, number, 0)))


def _pair(ctx: Context, level: int, value: Value, key: Any) -> Values:
    """An item of `zip`, `enumerate` or `items()`: iterated over, or one of its places."""
    inner = value[1]
    if inner[0] == BUILT:
        file = ctx.file(inner[1])
        call = None if file is None else file.lowered.calls[inner[2]]
        name = "" if file is None or call is None else file.written(call.callee)
        if name in {"zip", "enumerate"}:
            place = key if name == "zip" else 0 if key == 1 else None
            if place is None:
                return EMPTY
            held = ctx.read(("argument", level, inner[1], inner[2], place))
            return join([ctx.read(("each", level, v)) for v, _ in held])
    if key is None:
        return one(*value)
    return ctx.read(("item", level, inner, None)) if key == 1 else EMPTY


def _typed(_ctx: Context, _level: int, value: Value, _key: Any) -> Values:
    return one(*value[1])


def _subscripted(ctx: Context, level: int, value: Value, _key: Any) -> Values:
    return ctx.read(("special", level, value, "__getitem__"))


def _rest(ctx: Context, level: int, value: Value, key: Any) -> Values:
    return rest(ctx, level, value, key)


def _opaque(_ctx: Context, _level: int, _value: Value, _key: Any) -> Values:
    return one(OPAQUE)


_ITEMS: dict[str, Callable[[Context, int, Value, Any], Values]] = {
    CONTAINER: _display,
    BUILT: _built,
    PAIR: _pair,
    TYPED: _typed,
    REST: _rest,
    INSTANCE: _subscripted,
    SELF: _subscripted,
    OPAQUE: _opaque,
    EXTERNAL: _opaque,
}
