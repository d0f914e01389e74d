"""Rules for the items of containers, and for iterating over, entering or subscripting a value."""

from collections.abc import Callable
from typing import Any

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EMPTY, Value, Values, exact_value, join, weaken
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.rules.call_rules import variadic_items
from remora.code.callgraph.rules.hierarchy import is_enum
from remora.code.callgraph.rules.points_to import await_values, evaluate, instances_of
from remora.code.ir.model import STAR, Container, has_tag

_MANAGERS = frozenset(("contextmanager", "asynccontextmanager"))


def item(ctx: Context, level: int, value: Value, key: Any) -> Values:
    """Return the values of `value[key]`. `key` is None if it is not constant."""
    found = _ITEMS.get(value[0])
    return EMPTY if found is None else weaken(found(ctx, level, value, key))


def each(ctx: Context, level: int, value: Value) -> Values:
    if value[0] in {kinds.INSTANCE, kinds.SELF}:
        iterators = ctx.read(("special", level, value, "__iter__"))
        found = [
            ctx.read(("each", level, v))
            for v, _ in iterators
            if v[0] not in {kinds.INSTANCE, kinds.SELF}
        ]
        for iterator, _ in (*iterators, (value, 0)):
            if iterator[0] in {kinds.INSTANCE, kinds.SELF}:
                found.append(ctx.read(("special", level, iterator, "__next__")))
        return weaken(join(found))
    if value[0] == kinds.GENERATOR:
        return ctx.read(("yields", level, value[1], value[2]))
    return item(ctx, level, value, None)


def entered(ctx: Context, level: int, value: Value, is_async: bool) -> Values:
    """Return the values that `with value as …` binds."""
    if value[0] in {kinds.INSTANCE, kinds.SELF}:
        result = ctx.read(("special", level, value, "__aenter__" if is_async else "__enter__"))
        return await_values(ctx, level, result) if is_async else result
    if value[0] == kinds.GENERATOR:
        file = ctx.definition_file(value[1], value[2])
        if file is not None and file.decorator_names(value[2]) & _MANAGERS:
            return ctx.read(("yields", level, value[1], value[2]))
    return exact_value(kinds.OPAQUE) if value[0] in {kinds.EXTERNAL, kinds.OPAQUE} else EMPTY


def _literal(ctx: Context, level: int, value: Value, key: Any) -> Values:
    if (file := ctx.file(value[1])) is None:
        return EMPTY
    container = file.lowered.containers[value[2]]
    point = ProgramPoint(level, value[1], container.scope, container.at)
    terms = [term for term, _ in _matching_items(container, key)]
    found = [evaluate(ctx, point, term) for term in terms]
    return join((*found, *_later_items(ctx, level, file, (True, value[2]), key)))


def _matching_items(container: Container, key: Any) -> list[tuple[Any, Any]]:
    """Return (item, key) for each item that `key` may select."""
    if container.keys is not None:
        pairs = list(zip(container.items, container.keys, strict=True))
        return [p for p in pairs if key is None or p[1] is None or p[1] == key]
    items = [(term, None) for term in container.items]
    starred = any(has_tag(term, STAR) for term, _ in items)
    if (
        isinstance(key, int)
        and not container.each
        and not starred
        and -len(items) <= key < len(items)
    ):
        return [items[key]]
    return items


def _later_items(
    ctx: Context, level: int, file: IndexedFile, site: tuple[bool, int], key: Any
) -> list[Values]:
    """Return the values that are added later through variables that hold the container."""
    found = []
    for variable in file.variables_by_container.get(site, ()):
        for fill in file.fills_by_variable.get(variable, ()):
            point = ProgramPoint(level, file.path, fill.scope, fill.at)
            if file.outer_container(fill.base) is not None:
                inner = evaluate(ctx, point, fill.term)
                found.append(tuple(((kinds.TYPED_CONTAINER, v), tier) for v, tier in inner))
            elif key is None or fill.key is None or fill.key == key:
                found.append(evaluate(ctx, point, fill.term))
    return found


def _item_of_literal(ctx: Context, level: int, value: Value, key: Any) -> Values:
    _, path, number = value
    if (file := ctx.file(path)) is None:
        return EMPTY
    call = file.lowered.calls[number]
    name = file.term_name(call.callee)
    point = ProgramPoint(level, path, call.scope, call.at)
    items = _later_items(ctx, level, file, (False, number), key)
    if name == "defaultdict" and call.args:
        factories = ctx.read(("argument", level, path, number, 0))
        items.append(_factory_results(ctx, level, factories))
    if name == "dict":
        items.extend(
            evaluate(ctx, point, term)
            for keyword, term in call.keywords
            if keyword is not None and (key is None or key == keyword)
        )
    if name == "map":
        functions = ctx.read(("argument", level, path, number, 0))
        items.append(_factory_results(ctx, level, functions))
    elif name in {"zip", "enumerate"}:
        items.append(exact_value(kinds.PAIR, (kinds.BUILT_CONTAINER, path, number)))
    else:
        terms = call.args[1:] if name in {"filter", "defaultdict"} else call.args
        for term in terms:
            iterables = evaluate(ctx, point, term)
            items.extend(ctx.read(("each", level, v)) for v, _ in iterables)
    return join(items)


def _factory_results(ctx: Context, level: int, factories: Values) -> Values:
    found: list[Values] = []
    for value, _ in factories:
        if value[0] == kinds.CLASS:
            found.append(exact_value(kinds.INSTANCE, *value[1:]))
        elif value[0] == kinds.FUNCTION:
            found.append(ctx.read(("result", level, value[1], value[2])))
    return join(found)


def _pair(ctx: Context, level: int, value: Value, key: Any) -> Values:
    """Return an item of a pair produced by `zip`, `enumerate` or `items()`, or the pair itself."""
    inner = value[1]
    if inner[0] == kinds.BUILT_CONTAINER:
        file = ctx.file(inner[1])
        call = None if file is None else file.lowered.calls[inner[2]]
        name = "" if file is None or call is None else file.term_name(call.callee)
        if name in {"zip", "enumerate"}:
            index = key if name == "zip" else 0 if key == 1 else None
            if index is None:
                return EMPTY
            iterables = ctx.read(("argument", level, inner[1], inner[2], index))
            return join([ctx.read(("each", level, v)) for v, _ in iterables])
    if key is None:
        return exact_value(*value)
    return ctx.read(("item", level, inner, None)) if key == 1 else EMPTY


def _item_of_typed(_ctx: Context, _level: int, value: Value, _key: Any) -> Values:
    return exact_value(*value[1])


def _subscripted(ctx: Context, level: int, value: Value, _key: Any) -> Values:
    return ctx.read(("special", level, value, "__getitem__"))


def _of_class(ctx: Context, _level: int, value: Value, _key: Any) -> Values:
    """Return `Box` for `Box[int]`, or a member for `Color["RED"]`."""
    return instances_of(((value, 0),)) if is_enum(ctx, value) else exact_value(*value)


def _opaque(_ctx: Context, _level: int, _value: Value, _key: Any) -> Values:
    return exact_value(kinds.OPAQUE)


_ITEMS: dict[str, Callable[[Context, int, Value, Any], Values]] = {
    kinds.CONTAINER: _literal,
    kinds.BUILT_CONTAINER: _item_of_literal,
    kinds.PAIR: _pair,
    kinds.TYPED_CONTAINER: _item_of_typed,
    kinds.VARIADIC: variadic_items,
    kinds.INSTANCE: _subscripted,
    kinds.SELF: _subscripted,
    kinds.CLASS: _of_class,
    kinds.OWN_CLASS: _of_class,
    kinds.OPAQUE: _opaque,
    kinds.EXTERNAL: _opaque,
}
