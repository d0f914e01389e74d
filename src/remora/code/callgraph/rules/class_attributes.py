"""What an attribute of a class is, or of its instances."""

import itertools
from collections.abc import Iterator

from remora.code.callgraph.abstract_values import (
    BOUND,
    CLASS,
    EMPTY,
    EXTERNAL,
    FUNCTION,
    INSTANCE,
    OPAQUE,
    OWN_CLASS,
    PROPERTY,
    SELF,
    TOP,
    Value,
    Values,
    join,
    one,
    weaken,
)
from remora.code.callgraph.context import Context
from remora.code.callgraph.files.ir_index import File, Seen
from remora.code.callgraph.rules.evaluation import bind_values
from remora.code.callgraph.rules.hierarchy import is_foreign, is_handed_up, orders
from remora.code.ir.model import CLASS_SCOPE, FUNCTION_SCOPE

GETTERS = frozenset(("property", "cached_property", "abstractproperty", "lazy_property", "getter"))
CLASS_METHODS = frozenset(("__new__", "__init_subclass__", "__class_getitem__"))
_FEW_OVERRIDERS = 4  # of an abstract method: of more it says nothing which one it is
_MOST_OVERRIDERS = 24  # that a parameter may have: with all else it may be, below what is followed


def class_attribute(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Rule: what the class, or the first of its bases that has it, binds to `name`."""
    for file, number in orders(ctx, (CLASS, path, scope)):
        seen = file.exported(number, name)
        if seen:
            return join([bind_values(ctx, level, file, one_seen) for one_seen in seen])
    return EMPTY


def accessor(ctx: Context, path: str, scope: int, name: str, setting: bool) -> Values:
    """Rule: the function behind the property `name`; nothing if it is none."""
    for file, number in orders(ctx, (CLASS, path, scope)):
        binds = file.scopes[number].binds.get(name, ())
        if not binds:
            continue
        found: Values = EMPTY
        for index in range(len(binds)):
            function = file.definition(Seen(number, name, index))
            kinds = set() if function is None else file.decorations(function)
            if function is not None and (("setter" in kinds) if setting else (kinds & GETTERS)):
                found = one(FUNCTION, file.path, function)
        return found or _made_property(ctx, file, number, name, setting)
    return EMPTY


def accessors(ctx: Context, value: Value, name: str, setting: bool) -> Values:
    """Rule: the functions behind the property `name` of an instance; `self` may be of a derived class,
    which may override it."""
    own = ctx.read(("accessor", value[1], value[2], name, setting))
    if value[0] != SELF or not own:
        return own
    below = ctx.read(("derived", value[1], value[2]))
    found = [weaken(ctx.read(("accessor", v[1], v[2], name, setting))) for v, _ in below]
    return join((own, *found))


def _made_property(ctx: Context, file: File, number: int, name: str, setting: bool) -> Values:
    values = [bind_values(ctx, 0, file, seen) for seen in file.exported(number, name)]
    found = []
    for value, _ in join(values):
        if value[0] == PROPERTY:
            found.append(ctx.read(("argument", 0, value[1], value[2], 1 if setting else 0)))
    return tuple(pair for pair in join(found) if pair[0][0] == FUNCTION)


def of_instance(ctx: Context, level: int, value: Value, name: str, within: str = "") -> Values:
    """An attribute of an instance: a bound method, what a property gives, or what was stored.

    `within` is the method of the class that says `self.name`, where it is asked for there: `self`
    is of no class that overrides it.
    """
    _, path, scope = value
    getters = ctx.read(("accessors", value, name, False))
    if getters:
        given = [ctx.read(("result", level, v[1], v[2])) for v, _ in getters]
        return weaken(join(given)) or one("computed", *value[1:], name)
    own = ctx.read(("class_attribute", level, path, scope, name))
    found = [bind_to(ctx, own, value), ctx.read(("stores", level, path, scope, name))]
    if value[0] == SELF:
        found.extend(_below(ctx, level, value, name, within))
    elif is_abstract(ctx, own):
        below = ctx.read(("derived", path, scope))
        few = len(below) <= _FEW_OVERRIDERS
        found.extend(_below(ctx, level, value, name, "") if few else ())
    values = join(found)
    if not values and is_foreign(ctx, value):
        return one(OPAQUE)
    return values


def overriders(ctx: Context, level: int, value: Value, name: str) -> Values:
    """What derived classes have instead of an abstract method, where an instance of each may be
    meant; nothing where they are too many."""
    if not is_abstract(ctx, ctx.read(("class_attribute", level, value[1], value[2], name))):
        return EMPTY
    found = join(_below(ctx, level, (SELF, *value[1:]), name, ""))
    return EMPTY if found is TOP or len(found) > _MOST_OVERRIDERS else found


def _below(ctx: Context, level: int, value: Value, name: str, within: str) -> Iterator[Values]:
    """What derived classes have or store as the attribute; `self` may be of each of them."""
    for below, _ in ctx.read(("derived", value[1], value[2])):
        if within and not _is_reached(ctx, below, value, within):
            continue
        own = ctx.read(("class_attribute", level, below[1], below[2], name))
        yield weaken(bind_to(ctx, own, value))
        yield weaken(ctx.read(("stores", level, below[1], below[2], name)))


def _is_reached(ctx: Context, below: Value, value: Value, method: str) -> bool:
    """Whether the method of the class runs for a derived one, which may override it."""
    between = itertools.takewhile(lambda o: (o[0].path, o[1]) != value[1:], orders(ctx, below))
    return all(is_handed_up(ctx, file, number, method) for file, number in between)


def is_abstract(ctx: Context, methods: Values) -> bool:
    """Whether a method is there to be overridden: it says so, or does nothing but to raise that."""
    for value, _ in methods:
        file = ctx.head(value[1], value[2]) if value[0] == FUNCTION else None
        if file is None or not (
            "abstractmethod" in file.decorations(value[2]) or file.does_nothing(value[2])
        ):
            return False
    return bool(methods)


def of_class(ctx: Context, level: int, value: Value, name: str, within: str = "") -> Values:
    """An attribute of a class itself; members of an enumeration are its instances."""
    own = ctx.read(("class_attribute", level, value[1], value[2], name))
    order = ctx.read(("mro", value[1], value[2]))
    foreign = {v[1] for v, _ in order if v[0] == EXTERNAL}
    if foreign and any(base.startswith("enum.") for base in foreign):
        functions = tuple(pair for pair in own if pair[0][0] == FUNCTION)
        return functions or one(INSTANCE, *value[1:])
    found = [bind_to(ctx, own, value), ctx.read(("stores", level, value[1], value[2], name))]
    if value[0] == OWN_CLASS:
        found.extend(_below(ctx, level, value, name, within))
    values = join(found)
    return values or (one(OPAQUE) if is_foreign(ctx, value) else EMPTY)


def of_super(ctx: Context, level: int, value: Value, name: str) -> Values:
    """An attribute as the classes behind the one that says `super()` have it."""
    _, path, scope, receiver = value
    order = [v for v, _ in ctx.read(("mro", path, scope))][1:]
    for found in order:
        file = ctx.around(found[1], found[2]) if found[0] == CLASS else None
        seen = file.exported(found[2], name) if file is not None else ()
        if file is not None and seen:
            own = join([bind_values(ctx, level, file, each) for each in seen])
            return bind_to(ctx, own, (receiver, path, scope))
    return one(OPAQUE)


def bind_to(ctx: Context, values: Values, receiver: Value) -> Values:
    """Functions of a class as its instance, or the class, hands them out."""
    found: dict[Value, int] = {}
    for value, tier in values:
        made = value
        if value[0] == FUNCTION and _is_bound(ctx, value, receiver):
            made = (BOUND, value, receiver)
        found[made] = tier
    return tuple(found.items())


def _is_bound(ctx: Context, value: Value, receiver: Value) -> bool:
    file = ctx.head(value[1], value[2])
    kinds = set() if file is None else file.decorations(value[2])
    if "staticmethod" in kinds:
        return False
    name = "" if file is None else file.scopes[value[2]].name
    if "classmethod" in kinds or name in CLASS_METHODS:
        return True
    return receiver[0] in {INSTANCE, SELF}


def special(ctx: Context, level: int, value: Value, name: str) -> Values:
    """Rule: what the special method `name` of an instance gives."""
    methods = ctx.read(("class_attribute", level, value[1], value[2], name))
    found = [ctx.read(("result", level, v[1], v[2])) for v, _ in methods if v[0] == FUNCTION]
    return weaken(join(found))


def own_value(ctx: Context, path: str, scope: int) -> Values:
    """What the first parameter of a method is; nothing for a plain function."""
    file = ctx.head(path, scope)
    if file is None:
        return EMPTY
    found = file.scopes[scope]
    if found.kind != FUNCTION_SCOPE or file.scopes[found.parent].kind != CLASS_SCOPE:
        return EMPTY
    kinds = file.decorations(scope)
    if "staticmethod" in kinds:
        return EMPTY
    of_type = "classmethod" in kinds or found.name in CLASS_METHODS
    return one(OWN_CLASS if of_type else SELF, path, found.parent)
