"""Conversion of type annotations to the values that they describe."""

from typing import Any

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EMPTY, Values, exact_value, join
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.ir.model import ATTRIBUTE, EITHER, GENERIC, unqualified_name

_TRANSPARENT_GENERICS = frozenset(
    ("Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired")
)
_COLLECTIONS = frozenset(
    (
        *("list", "List", "set", "Set", "frozenset", "FrozenSet", "tuple", "Tuple", "deque"),
        *("Deque", "Sequence", "MutableSequence", "Iterable", "Iterator", "Collection"),
        *("AsyncIterator", "AsyncIterable", "Generator", "AsyncGenerator", "AbstractSet"),
        *("MutableSet", "Reversible"),
    )
)
_MAPPINGS = frozenset(
    (
        *("dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict"),
        *("OrderedDict", "ChainMap"),
    )
)
CONTAINERS = _COLLECTIONS | _MAPPINGS
"""Unqualified names of container types."""
_AWAITABLES = frozenset(("Awaitable", "Coroutine"))
_CLASS_TYPES = frozenset(("type", "Type"))
_UNINFORMATIVE = frozenset(
    (
        *("Any", "object", "Callable", "Self", "Literal", "None", "Protocol", "Generic"),
        *("TypeVar", "NoReturn"),
    )
)
_MAX_DEPTH = 8


def declared_values(ctx: Context, point: ProgramPoint, term: Any, depth: int = 0) -> Values:
    """Return the values of a declared type.

    The result is empty for uninformative types such as Any, Callable or a type variable.
    """
    if term is None or depth > _MAX_DEPTH:
        return EMPTY
    if term.__class__ is not str and term[0] == EITHER:
        return join([declared_values(ctx, point, part, depth + 1) for part in term[1:]])
    if term.__class__ is not str and term[0] == GENERIC:
        return _generic(ctx, point, term, depth)
    return _plain_type(ctx, point, term)


def _plain_type(ctx: Context, point: ProgramPoint, term: Any) -> Values:
    found: dict[tuple[Any, ...], int] = {}
    for value, tier in _type_values(ctx, point, term):
        if value[0] == kinds.CLASS:
            found[(kinds.INSTANCE, *value[1:])] = tier
        elif value[0] == kinds.EXTERNAL and unqualified_name(value[1]) not in _UNINFORMATIVE:
            found[(kinds.OPAQUE, value[1])] = 0
        elif value[0] in {kinds.INSTANCE, kinds.SELF, kinds.TYPED_CONTAINER, kinds.OPAQUE}:
            found[value] = tier  # an alias of a type
    return tuple(found.items())


def _type_values(ctx: Context, point: ProgramPoint, term: Any) -> Values:
    if term.__class__ is str:
        return ctx.read(("term", 0, point.path, point.scope, point.at, term))
    if term[0] != ATTRIBUTE:
        return EMPTY
    bases = _type_values(ctx, point, term[1])
    known = [
        v for v, _ in bases if v[0] in {kinds.MODULE, kinds.NAMESPACE, kinds.CLASS, kinds.EXTERNAL}
    ]
    return join([ctx.read(("member", 0, value, term[2])) for value in known])


def _generic(ctx: Context, point: ProgramPoint, term: Any, depth: int) -> Values:
    base, *parts = term[1:]
    if (name := unqualified_name(base)) in _TRANSPARENT_GENERICS:
        used = parts[:1] if name == "Annotated" else parts
        return join([declared_values(ctx, point, part, depth + 1) for part in used])
    if name in _CLASS_TYPES:
        return _classes(ctx, point, parts[:1])
    if name in _COLLECTIONS or name in _MAPPINGS:
        used = parts[1:2] if name in _MAPPINGS else parts[:1] if "enera" in name else parts
        elements = join([declared_values(ctx, point, part, depth + 1) for part in used])
        typed = [exact_value(kinds.TYPED_CONTAINER, value) for value, _ in elements]
        return join([exact_value(kinds.OPAQUE, name), *typed])
    return EMPTY if name in _AWAITABLES else _plain_type(ctx, point, base)


def _classes(ctx: Context, point: ProgramPoint, parts: list[Any]) -> Values:
    found = [_type_values(ctx, point, part) for part in parts if part is not None]
    return tuple(pair for pair in join(found) if pair[0][0] == kinds.CLASS)
