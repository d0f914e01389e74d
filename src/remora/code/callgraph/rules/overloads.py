"""Overloads: which of a function's declared signatures a call fits."""

from typing import Any

from remora.code.callgraph.abstract_values import (
    BUILT,
    CONTAINER,
    INSTANCE,
    OPAQUE,
    SELF,
    TYPED,
    Value,
    Values,
    join,
)
from remora.code.callgraph.context import Context, Place
from remora.code.callgraph.files.ir_index import File, Seen
from remora.code.callgraph.rules.declared_types import declared
from remora.code.callgraph.rules.evaluation import evaluate
from remora.code.ir.model import KEYWORD, Call, unqualified_name

_LISTED = frozenset(("Sequence", "MutableSequence", "List", "Iterable", "Collection", "Reversible"))
_MAPPED = frozenset(("Mapping", "MutableMapping", "Dict", "Iterable", "Collection"))
_ABOVE: dict[str, frozenset[str]] = {
    "bool": frozenset(("int", "float", "complex")),
    "int": frozenset(("float", "complex")),
    "float": frozenset(("complex",)),
    "str": frozenset(("Sequence", "Iterable", "Collection")),
    "bytes": frozenset(("Sequence", "Iterable", "Collection", "Buffer")),
    "list": _LISTED | {"tuple", "set", "frozenset", "Set", "AbstractSet"},  # any display but a dict
    "dict": _MAPPED,
    "datetime": frozenset(("date",)),
}
"""Types of the outside that take a value of the type, itself aside."""
_BUILT = frozenset(("list", "tuple", "set", "frozenset", "dict"))
_NO, _MAYBE, _YES = range(3)


def chosen(ctx: Context, value: Value, site: tuple[str, int], offset: int) -> Values | None:
    """What the overloads that the call fits promise; null where the function has none, or no fit."""
    file, call = ctx.head(value[1], value[2]), ctx.call(*site)
    numbers = _overloads(file, value[2]) if file is not None else []
    if file is None or call is None or not numbers:
        return None
    place = Place(0, site[0], call.scope, call.at)
    promised: list[Values] = []
    sure: list[Values] | None = None
    for number in numbers:
        wanted, terms = _wanted(ctx, file, number, call, offset)
        if sure is not None and wanted != sure:
            continue  # only what takes the same as the one that fits may be meant instead of it
        fit = min(
            (_takes(ctx, w, evaluate(ctx, place, t)) for w, t in zip(wanted, terms, strict=True)),
            default=_YES,
        )
        if fit != _NO:
            around = Place(0, file.path, file.scopes[number].parent, file.scopes[number].at)
            promised.append(declared(ctx, around, file.scopes[number].annotation))
        if fit == _YES:
            sure = wanted
    return join(promised) or None


def _overloads(file: File, number: int) -> list[int]:
    scope = file.scopes[number]
    binds = file.scopes[scope.parent].binds.get(scope.name, ()) if scope.parent >= 0 else ()
    if len(binds) < 2:
        return []
    every = [file.definition(Seen(scope.parent, scope.name, i)) for i in range(len(binds))]
    return [n for n in every if n is not None and "overload" in file.decorations(n)]


def _wanted(
    ctx: Context, file: File, number: int, call: Call, offset: int
) -> tuple[list[Values], list[Any]]:
    """What the parameters that the call gives something take, and what it gives them."""
    scope = file.scopes[number]
    around = Place(0, file.path, scope.parent, scope.at)
    takes = [param for param in scope.params if param.kind != KEYWORD][offset:]
    named = {param.name: param for param in scope.params}
    given = [*zip(takes, call.args, strict=False)]
    given += [(named[key], term) for key, term in call.keywords if key in named]
    wanted = [declared(ctx, around, param.annotation) for param, _ in given]
    return wanted, [term for _, term in given]


def _takes(ctx: Context, wanted: Values, values: Values) -> int:
    if not wanted or not values:
        return _MAYBE
    fits = {_is_one(ctx, wanted, value) for value, _ in values}
    return fits.pop() if len(fits) == 1 else _MAYBE


def _is_one(ctx: Context, wanted: Values, value: Value) -> int:
    """Whether a value is of one of the declared types."""
    if value[0] in {INSTANCE, SELF}:
        above = {v for v, _ in ctx.read(("mro", value[1], value[2]))}
        classes = {("class", *v[1:]) for v, _ in wanted if v[0] in {INSTANCE, SELF}}
        return (
            _YES if above & classes else _NO if classes and len(classes) == len(wanted) else _MAYBE
        )
    kind = _type_name(ctx, value)
    names = {unqualified_name(v[1]) for v, _ in wanted if v[0] == OPAQUE and len(v) > 1}
    if not kind:
        return _MAYBE
    if kind not in names and not _ABOVE.get(kind, frozenset()) & names:
        return _NO if names or any(v[0] == INSTANCE for v, _ in wanted) else _MAYBE
    held: Values = tuple((v[1], 0) for v, _ in wanted if v[0] == TYPED)
    if not held or value[0] != CONTAINER:
        return _YES
    return _takes(ctx, held, ctx.read(("each", 0, value)))


def _type_name(ctx: Context, value: Value) -> str:
    """The last name of its type, as far as it is known."""
    if value[0] == CONTAINER:
        file = ctx.file(value[1])
        keys = file.lowered.containers[value[2]].keys if file is not None else None
        return "list" if keys is None else "dict"
    if value[0] == BUILT:
        file = ctx.file(value[1])
        made = file.written(value[2]) if file is not None else ""
        return "list" if made == "sorted" else made if made in _BUILT else ""
    return unqualified_name(value[1]) if value[0] == OPAQUE and len(value) > 1 else ""
