"""Annotations to values: what a declared type promises."""

from typing import Any

from remora.code.callgraph.abstract_values import (
    CLASS,
    EMPTY,
    EXTERNAL,
    INSTANCE,
    MODULE,
    NAMESPACE,
    OPAQUE,
    SELF,
    TYPED,
    Values,
    join,
    one,
)
from remora.code.callgraph.context import Context, Place
from remora.code.ir.model import ATTRIBUTE, EITHER, GENERIC, unqualified_name

_SAME = frozenset(
    ("Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired")
)
_HOLDERS = frozenset(
    [
        "list",
        "List",
        "set",
        "Set",
        "frozenset",
        "FrozenSet",
        "tuple",
        "Tuple",
        "deque",
        "Deque",
        "Sequence",
        "MutableSequence",
        "Iterable",
        "Iterator",
        "Collection",
        "AsyncIterator",
        "AsyncIterable",
        "Generator",
        "AsyncGenerator",
        "AbstractSet",
        "MutableSet",
        "Reversible",
    ]
)
_MAPPINGS = frozenset(
    [
        "dict",
        "Dict",
        "Mapping",
        "MutableMapping",
        "defaultdict",
        "DefaultDict",
        "OrderedDict",
        "ChainMap",
    ]
)
CONTAINERS = _HOLDERS | _MAPPINGS
"""Last names of types whose values hold others."""
_WAITED = frozenset(("Awaitable", "Coroutine"))
_CLASSES = frozenset(("type", "Type"))
_UNTOLD = frozenset(
    [
        "Any",
        "object",
        "Callable",
        "Self",
        "Literal",
        "None",
        "Protocol",
        "Generic",
        "TypeVar",
        "NoReturn",
    ]
)
_DEEPEST = 8


def declared(ctx: Context, place: Place, term: Any, depth: int = 0) -> Values:
    """Values of the declared type; nothing where it tells nothing (Any, Callable, a type variable)."""
    if term is None or depth > _DEEPEST:
        return EMPTY
    if term.__class__ is not str and term[0] == EITHER:
        return join([declared(ctx, place, part, depth + 1) for part in term[1:]])
    if term.__class__ is not str and term[0] == GENERIC:
        return _generic(ctx, place, term, depth)
    return _plain(ctx, place, term)


def _plain(ctx: Context, place: Place, term: Any) -> Values:
    found: dict[tuple[Any, ...], int] = {}
    for value, tier in _named(ctx, place, term):
        if value[0] == CLASS:
            found[(INSTANCE, *value[1:])] = tier
        elif value[0] == EXTERNAL and unqualified_name(value[1]) not in _UNTOLD:
            found[(OPAQUE, value[1])] = 0
        elif value[0] in {INSTANCE, SELF, TYPED, OPAQUE}:  # an alias of a type
            found[value] = tier
    return tuple(found.items())


def _named(ctx: Context, place: Place, term: Any) -> Values:
    if term.__class__ is str:
        return ctx.read(("name", place.path, place.scope, place.at, term))
    if term[0] != ATTRIBUTE:
        return EMPTY
    bases = _named(ctx, place, term[1])
    known = [v for v, _ in bases if v[0] in {MODULE, NAMESPACE, CLASS, EXTERNAL}]
    return join([ctx.read(("member", 0, value, term[2])) for value in known])


def _generic(ctx: Context, place: Place, term: Any, depth: int) -> Values:
    base, *parts = term[1:]
    name = unqualified_name(base)
    if name in _SAME:
        wanted = parts[:1] if name == "Annotated" else parts
        return join([declared(ctx, place, part, depth + 1) for part in wanted])
    if name in _CLASSES:
        return _classes(ctx, place, parts[:1])
    if name in _HOLDERS or name in _MAPPINGS:
        wanted = parts[1:2] if name in _MAPPINGS else parts[:1] if "enera" in name else parts
        held = join([declared(ctx, place, part, depth + 1) for part in wanted])
        return join([one(OPAQUE, name), *[one(TYPED, value) for value, _ in held]])
    if name in _WAITED:
        return EMPTY
    return _plain(ctx, place, base)


def _classes(ctx: Context, place: Place, parts: list[Any]) -> Values:
    found = [_named(ctx, place, part) for part in parts if part is not None]
    return tuple(pair for pair in join(found) if pair[0][0] == CLASS)
