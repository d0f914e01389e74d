"""Rules for the results of calls, also of overloaded functions."""

from collections.abc import Callable
from typing import Any

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EMPTY, Value, Values, exact_value, join, weaken
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.files.ir_index import IndexedFile, VisibleBinding
from remora.code.callgraph.rules.declared_types import declared_values
from remora.code.callgraph.rules.points_to import evaluate, instances_of
from remora.code.callgraph.rules.stdlib_models import external_result
from remora.code.ir.model import ASYNC, KEYWORD, Call, unqualified_name
from remora.code.ir.model import GENERATOR as YIELDS

_SEQUENCE_TYPES = frozenset(
    ("Sequence", "MutableSequence", "List", "Iterable", "Collection", "Reversible")
)
_MAPPING_TYPES = frozenset(("Mapping", "MutableMapping", "Dict", "Iterable", "Collection"))
_SUPERTYPES: dict[str, frozenset[str]] = {
    "bool": frozenset(("int", "float", "complex")),
    "int": frozenset(("float", "complex")),
    "float": frozenset(("complex",)),
    "str": frozenset(("Sequence", "Iterable", "Collection")),
    "bytes": frozenset(("Sequence", "Iterable", "Collection", "Buffer")),
    "list": _SEQUENCE_TYPES
    | {"tuple", "set", "frozenset", "Set", "AbstractSet"},  # any literal except a dict
    "dict": _MAPPING_TYPES,
    "datetime": frozenset(("date",)),
}
"""Maps each external type to the other external types that accept its values."""
_CONTAINER_TYPES = frozenset(("list", "tuple", "set", "frozenset", "dict"))
_NO, _MAYBE, _YES = range(3)


def result_of_call(ctx: Context, level: int, path: str, number: int) -> Values:
    callees = ctx.read(("callee", level, path, number))
    return join([_result(ctx, level, value, (path, number)) for value, _ in callees])


def _result(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    find = _RESULTS.get(value[0], external_result)
    return find(ctx, level, value, site)


def _of_function(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    function, offset = (value[1], 1) if value[0] == kinds.BOUND else (value, 0)
    declared = _overload_result(ctx, function, site, offset)
    return ctx.read(("result", level, *function[1:])) if declared is None else declared


def _of_class(_ctx: Context, _level: int, value: Value, _site: tuple[str, int]) -> Values:
    return instances_of(((value, 0),))


def _of_instance(ctx: Context, level: int, value: Value, _site: tuple[str, int]) -> Values:
    return ctx.read(("special", level, value, "__call__"))


def _of_partial(ctx: Context, level: int, value: Value, site: tuple[str, int]) -> Values:
    inner = ctx.read(("argument", level, value[1], value[2], 0))
    return weaken(join([_result(ctx, level, v, site) for v, _ in inner if v[0] != kinds.PARTIAL]))


_RESULTS: dict[str, Callable[[Context, int, Value, tuple[str, int]], Values]] = {
    kinds.FUNCTION: _of_function,
    kinds.BOUND: _of_function,
    kinds.CLASS: _of_class,
    kinds.OWN_CLASS: _of_class,
    kinds.INSTANCE: _of_instance,
    kinds.SELF: _of_instance,
    kinds.PARTIAL: _of_partial,
    kinds.IDENTITY: lambda ctx, level, _, site: ctx.read(("argument", level, *site, 0)),
}


def result(ctx: Context, level: int, path: str, scope: int) -> Values:
    if (file := ctx.definition_file(path, scope)) is None:
        return EMPTY
    flags = file.scopes[scope].flags
    if flags & YIELDS:
        return exact_value(kinds.GENERATOR, path, scope)
    if flags & ASYNC:
        return exact_value(kinds.COROUTINE, path, scope)
    return ctx.read(("returns", level, path, scope))


def returns(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Return the values that a function body returns."""
    if (file := ctx.file(path)) is None:
        return EMPTY
    found = file.scopes[scope]
    point = ProgramPoint(level, path, found.parent, found.at)
    parts = [declared_values(ctx, point, found.annotation)]
    for at, term in found.results:
        parts.append(weaken(evaluate(ctx, ProgramPoint(level, path, scope, at), term)))
    return join(parts)


def yields(ctx: Context, level: int, path: str, scope: int) -> Values:
    """Return the elements of the generator that a function returns."""
    if (file := ctx.file(path)) is None:
        return EMPTY
    found = file.scopes[scope]
    parts = [
        weaken(evaluate(ctx, ProgramPoint(level, path, scope, at), term))
        for at, term in found.yields
    ]
    declared = declared_values(
        ctx, ProgramPoint(level, path, found.parent, found.at), found.annotation
    )
    parts.extend(ctx.read(("each", level, value)) for value, _ in declared)
    return join(parts)


def _overload_result(
    ctx: Context, value: Value, site: tuple[str, int], offset: int
) -> Values | None:
    """Return the declared results of the overloads that match a call, or None."""
    file, call = ctx.definition_file(value[1], value[2]), ctx.call(*site)
    numbers = _overloads(file, value[2]) if file is not None else []
    if file is None or call is None or not numbers:
        return None
    point = ProgramPoint(0, site[0], call.scope, call.at)
    results: list[Values] = []
    certain: list[Values] | None = None
    for number in numbers:
        types, terms = _parameter_types(ctx, file, number, call, offset)
        if certain is not None and types != certain:
            continue  # after a certain match, only overloads with the same types count
        fit = min(
            (_accepts(ctx, w, evaluate(ctx, point, t)) for w, t in zip(types, terms, strict=True)),
            default=_YES,
        )
        if fit != _NO:
            outer_point = ProgramPoint(
                0, file.path, file.scopes[number].parent, file.scopes[number].at
            )
            results.append(declared_values(ctx, outer_point, file.scopes[number].annotation))
        if fit == _YES:
            certain = types
    return join(results) or None


def _overloads(file: IndexedFile, number: int) -> list[int]:
    scope = file.scopes[number]
    binds = file.scopes[scope.parent].binds.get(scope.name, ()) if scope.parent >= 0 else ()
    if len(binds) < 2:
        return []
    overloads = [
        file.definition(VisibleBinding(scope.parent, scope.name, i)) for i in range(len(binds))
    ]
    return [n for n in overloads if n is not None and "overload" in file.decorator_names(n)]


def _parameter_types(
    ctx: Context, file: IndexedFile, number: int, call: Call, offset: int
) -> tuple[list[Values], list[Any]]:
    """Return the declared types of the parameters that a call fills, and the argument terms."""
    scope = file.scopes[number]
    outer_point = ProgramPoint(0, file.path, scope.parent, scope.at)
    positional = [param for param in scope.params if param.kind != KEYWORD][offset:]
    named = {param.name: param for param in scope.params}
    passed = [*zip(positional, call.args, strict=False)]
    passed += [(named[key], term) for key, term in call.keywords if key in named]
    types = [declared_values(ctx, outer_point, param.annotation) for param, _ in passed]
    return types, [term for _, term in passed]


def _accepts(ctx: Context, types: Values, values: Values) -> int:
    if not types or not values:
        return _MAYBE
    fits = {_accepts_value(ctx, types, value) for value, _ in values}
    return fits.pop() if len(fits) == 1 else _MAYBE


def _accepts_value(ctx: Context, types: Values, value: Value) -> int:
    """Return _YES if the value has one of the declared types, _NO if not, or _MAYBE if unknown."""
    if value[0] in {kinds.INSTANCE, kinds.SELF}:
        order = {v for v, _ in ctx.read(("mro", value[1], value[2]))}
        classes = {(kinds.CLASS, *v[1:]) for v, _ in types if v[0] in {kinds.INSTANCE, kinds.SELF}}
        return (
            _YES if order & classes else _NO if classes and len(classes) == len(types) else _MAYBE
        )
    kind = _type_name(ctx, value)
    names = {unqualified_name(v[1]) for v, _ in types if v[0] == kinds.OPAQUE and len(v) > 1}
    if not kind:
        return _MAYBE
    if kind not in names and not _SUPERTYPES.get(kind, frozenset()) & names:
        return _NO if names or any(v[0] == kinds.INSTANCE for v, _ in types) else _MAYBE
    elements: Values = tuple((v[1], 0) for v, _ in types if v[0] == kinds.TYPED_CONTAINER)
    if not elements or value[0] != kinds.CONTAINER:
        return _YES
    return _accepts(ctx, elements, ctx.read(("each", 0, value)))


def _type_name(ctx: Context, value: Value) -> str:
    """Return the unqualified name of a value's type, or "" if unknown."""
    if value[0] == kinds.CONTAINER:
        file = ctx.file(value[1])
        keys = file.lowered.containers[value[2]].keys if file is not None else None
        return "list" if keys is None else "dict"
    if value[0] == kinds.BUILT_CONTAINER:
        file = ctx.file(value[1])
        name = file.term_name(value[2]) if file is not None else ""
        return "list" if name == "sorted" else name if name in _CONTAINER_TYPES else ""
    return unqualified_name(value[1]) if value[0] == kinds.OPAQUE and len(value) > 1 else ""
