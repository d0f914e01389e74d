"""From terms to values: what an expression may stand for."""

import builtins
from collections.abc import Callable
from typing import Any

from remora.code.callgraph.abstract_values import (
    CLASS,
    CONTAINER,
    COROUTINE,
    EMPTY,
    EXTERNAL,
    FUNCTION,
    MODULE,
    NAMESPACE,
    OPAQUE,
    OWN_CLASS,
    SELF,
    Values,
    join,
    one,
    weaken,
)
from remora.code.callgraph.abstract_values import INSTANCE as OBJECT
from remora.code.callgraph.context import Context, Place
from remora.code.callgraph.files.ir_index import PARAMETER, File, Seen
from remora.code.callgraph.rules.declared_types import declared
from remora.code.ir.model import (
    ANNOTATED,
    ATTRIBUTE,
    AWAIT,
    CLASS_SCOPE,
    CONSTANT,
    DEFINITION,
    EITHER,
    ELEMENT,
    ENTERED,
    IMPORT,
    IMPORT_FROM,
    INSTANCE,
    ITEM,
    NARROWED,
    SCOPE,
    SLICE,
    STAR,
    TEXT,
    VALUE,
)
from remora.code.ir.model import CONTAINER as DISPLAY

_BUILTINS = frozenset(dir(builtins))
_DEEPEST = 40


def evaluate(ctx: Context, place: Place, term: Any, depth: int = 0) -> Values:
    """The values that `term` may have at `place`."""
    if term is None or depth > _DEEPEST:
        return EMPTY
    if term.__class__ is str:
        return name_values(ctx, place, term)
    if term.__class__ is int:
        return ctx.read(("call", place.level, place.path, term))
    return _TERMS[term[0]](ctx, place, term, depth + 1)


def name_values(ctx: Context, place: Place, name: str) -> Values:
    """What a name may mean there: the file's binds, its star imports, the builtins."""
    file = ctx.around(place.path, place.scope)
    if file is None:
        return EMPTY
    seen = file.lookup(place.scope, name, place.at)
    if seen:
        return join([_seen(ctx, place, file, one_seen) for one_seen in seen])
    starred = star_values(ctx, place.level, file, name)
    if starred:
        return starred
    return one(EXTERNAL, f"builtins.{name}") if name in _BUILTINS else EMPTY


def _seen(ctx: Context, place: Place, file: File, seen: Seen) -> Values:
    if seen.bind == PARAMETER:
        return ctx.read(("param", place.level, place.path, seen.scope, seen.name))
    return bind_values(ctx, place.level, file, seen)


def bind_values(ctx: Context, level: int, file: File, seen: Seen) -> Values:
    """What one bind gives its name: at once where that depends on nothing else."""
    found = file.scopes[seen.scope].binds[seen.name][seen.bind]
    if found.kind == DEFINITION and found.extra is None:
        is_class = file.scopes[found.term].kind == CLASS_SCOPE
        return one(CLASS if is_class else FUNCTION, file.path, found.term)
    if found.kind == IMPORT:
        return _import(ctx, file.path, found.term)
    if found.scope == 0 or found.kind == IMPORT_FROM:
        # who passes what to whom matters less for what a module makes when it is imported
        level = min(level, 1)
    return ctx.read(("bind", level, file.path, *seen))


def star_values(ctx: Context, level: int, file: File, name: str) -> Values:
    """What the star imports of `file` give for `name`."""
    if not file.lowered.stars:
        return EMPTY
    sources = ctx.starred(file.path, name)
    return join([ctx.read(("export", level, path, name)) for path in sources])


def export(ctx: Context, level: int, path: str, name: str) -> Values:
    """Rule: the attribute `name` of the module at `path`."""
    file = ctx.surface(path)
    if file is None:
        return EMPTY
    found = [bind_values(ctx, level, file, seen) for seen in file.exported(0, name)]
    if not found:
        inside = ctx.inside((MODULE, path), name)
        if inside is not None:
            return ((inside, 0),)
        return star_values(ctx, level, file, name)
    return join(found)


def bind(ctx: Context, level: int, path: str, scope: int, name: str, index: int) -> Values:
    """Rule: what one bind gives its name."""
    file = ctx.around(path, scope)
    if file is None:
        return EMPTY
    found = file.scopes[scope].binds[name][index]
    place = Place(level, path, found.scope, found.at)
    if found.kind in {VALUE, NARROWED}:
        return weaken(evaluate(ctx, place, found.term))
    if found.kind == DEFINITION:
        return _definition(ctx, place, file, found.term, found.extra)
    if found.kind == IMPORT_FROM:
        return _import_from(ctx, place, found.term, found.extra)
    if found.kind == ANNOTATED:
        assigned = weaken(evaluate(ctx, place, found.extra))
        return join((declared(ctx, place, found.term), assigned))
    return EMPTY


def _definition(ctx: Context, place: Place, file: File, number: int, decorated: Any) -> Values:
    kind = CLASS if file.scopes[number].kind == CLASS_SCOPE else FUNCTION
    itself = one(kind, file.path, number)
    if decorated is None:
        return itself
    made = ctx.read(("call", place.level, file.path, decorated))
    ours = tuple(pair for pair in made if pair[0][0] not in {EXTERNAL, OPAQUE})
    return join((itself, weaken(ours)))


def _import(ctx: Context, path: str, dotted: str) -> Values:
    module = ctx.imported(path, 0, dotted)
    return one(EXTERNAL, dotted) if module is None else ((module, 0),)


def _import_from(ctx: Context, place: Place, source: tuple[int, str], name: str) -> Values:
    level, dotted = source
    module = ctx.imported(place.path, level, dotted)
    if module is None:
        ours = level or ctx.is_ours(dotted)
        return one(OPAQUE) if ours else one(EXTERNAL, f"{dotted}.{name}")
    if module[0] == NAMESPACE or module[1] == place.path:
        inside = ctx.inside(module, name)
        return EMPTY if inside is None else ((inside, 0),)
    found = ctx.read(("export", min(place.level, 1), module[1], name))
    if not found and not ctx.surface(module[1]):
        return EMPTY
    inside = ctx.inside(module, name)
    return ((inside, 0),) if inside is not None and not found else found


def _attribute(ctx: Context, place: Place, term: Any, depth: int) -> Values:
    if term[2] == "__class__":
        file = ctx.around(place.path, place.scope)
        owner = file.class_of_self(place.scope, term[1]) if file is not None else None
        return one(OPAQUE) if owner is None else one(OWN_CLASS, place.path, owner)
    receivers = evaluate(ctx, place, term[1], depth)
    own = _own_method(ctx, place) if term[1].__class__ is str and len(receivers) == 1 else None
    if own is not None:
        value, tier = receivers[0]
        if value in ((SELF, *own[:2]), (OWN_CLASS, *own[:2])):
            found = ctx.read(("self_member", place.level, value, term[2], own[2]))
            return weaken(found) if tier else found
    file = ctx.around(place.path, place.scope)
    given = file is not None and file.is_declared(place.scope, term[1], place.at)
    return member_values(ctx, place.level, receivers, term[2], given=given)


def _own_method(ctx: Context, place: Place) -> tuple[str, int, str] | None:
    """Class and name of the method around: `self` there, and what is made of its class, are of no
    class that overrides the method."""
    file = ctx.around(place.path, place.scope)
    method = None if file is None else file.method_around(place.scope)
    if file is None or method is None:
        return None
    return place.path, file.scopes[method].parent, file.scopes[method].name


def member_values(
    ctx: Context, level: int, receivers: Values, name: str, *, given: bool = False
) -> Values:
    """The attribute `name` of each receiver, as surely as the receiver is known; `given`: they are
    those of a parameter, and what is known exactly is what its annotation says."""
    found = []
    for value, tier in receivers:
        rule = "given_member" if given and not tier else "member"
        values = ctx.read((rule, level, value, name))
        found.append(weaken(values) if tier else values)
    return join(found)


def _item(ctx: Context, place: Place, term: Any, depth: int) -> Values:
    base = evaluate(ctx, place, term[1], depth)
    return join([ctx.read(("item", place.level, value, term[2])) for value, _ in base])


def _each(ctx: Context, place: Place, term: Any, depth: int) -> Values:
    base = evaluate(ctx, place, term[1], depth)
    return join([ctx.read(("each", place.level, value)) for value, _ in base])


def _same(ctx: Context, place: Place, term: Any, depth: int) -> Values:
    return evaluate(ctx, place, term[1], depth)


def _display(_ctx: Context, place: Place, term: Any, _depth: int) -> Values:
    return one(CONTAINER, place.path, term[1])


def _scope(_ctx: Context, place: Place, term: Any, _depth: int) -> Values:
    file = _ctx.around(place.path, place.scope)
    is_class = file is not None and file.scopes[term[1]].kind == CLASS_SCOPE
    return one(CLASS if is_class else FUNCTION, place.path, term[1])


def _either(ctx: Context, place: Place, term: Any, depth: int) -> Values:
    return join([evaluate(ctx, place, part, depth) for part in term[1:]])


def _await(ctx: Context, place: Place, term: Any, depth: int) -> Values:
    return awaited(ctx, place.level, evaluate(ctx, place, term[1], depth))


def awaited(ctx: Context, level: int, values: Values) -> Values:
    """What waiting for each value gives."""
    found = []
    for value, tier in values:
        if value[0] == COROUTINE:
            found.append(ctx.read(("returns", level, value[1], value[2])))
        elif value[0] == OBJECT:
            found.append(ctx.read(("special", level, value, "__await__")))
        elif value[0] in {EXTERNAL, OPAQUE}:
            found.append(((value, tier),))
    return join(found)


def _text(_ctx: Context, _place: Place, _term: Any, _depth: int) -> Values:
    return one(OPAQUE, "builtins.str")


def _constant(_ctx: Context, _place: Place, term: Any, _depth: int) -> Values:
    return one(OPAQUE, f"builtins.{term[1]}")


def _entered(ctx: Context, place: Place, term: Any, depth: int) -> Values:
    found = []
    for value, _ in evaluate(ctx, place, term[1], depth):
        found.append(ctx.read(("entered", place.level, value, bool(term[2]))))
    return join(found)


def _instance(ctx: Context, place: Place, term: Any, depth: int) -> Values:
    classes = evaluate(ctx, place, term[1], depth)
    several = [ctx.read(("each", place.level, v)) for v, _ in classes if v[0] == CONTAINER]
    return instances(join((classes, *several)))


def instances(classes: Values) -> Values:
    """An instance of each class; of a class from outside something opaque."""
    found: dict[tuple[Any, ...], int] = {}
    for value, tier in classes:
        if value[0] == CLASS:
            found[(OBJECT, *value[1:])] = tier
        elif value[0] == OWN_CLASS:
            found[(SELF, *value[1:])] = tier
        elif value[0] == EXTERNAL:
            found[(OPAQUE, value[1])] = tier
    return tuple(found.items())


_TERMS: dict[int, Callable[[Context, Place, Any, int], Values]] = {
    ATTRIBUTE: _attribute,
    ITEM: _item,
    SLICE: _same,
    DISPLAY: _display,
    SCOPE: _scope,
    EITHER: _either,
    AWAIT: _await,
    ELEMENT: _each,
    TEXT: _text,
    CONSTANT: _constant,
    STAR: _each,
    ENTERED: _entered,
    INSTANCE: _instance,
}
