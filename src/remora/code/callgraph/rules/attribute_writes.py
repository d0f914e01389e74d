"""What is stored as an attribute: through `self`, by other code, in the fields of a dataclass."""

from typing import Final

from remora.code.callgraph.abstract_values import (
    CLASS,
    EMPTY,
    FUNCTION,
    INSTANCE,
    SELF,
    Value,
    Values,
    join,
    weaken,
)
from remora.code.callgraph.context import Context, Place
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.rules.declared_types import declared
from remora.code.callgraph.rules.evaluation import evaluate
from remora.code.callgraph.rules.hierarchy import is_dataclass, is_handed_up, orders
from remora.code.ir.model import AttributeWrite

_FEW_FILES: Final = 12


def attribute_stores(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Rule: what methods of the class and its bases store as `self.name`."""
    found: list[Values] = []
    above: list[tuple[File, int]] = []
    for file, number in orders(ctx, (CLASS, path, scope)):
        if is_dataclass(file, number) and name in file.scopes[number].binds:
            found.append(ctx.read(("field", level, file.path, number, name)))
        above.append((file, number))
        own = file.own_stores.get((number, name), ())
        if own:
            ctx.file(file.path)  # the bodies of methods are looked at
        for store in own:
            if not _runs(ctx, above, store):
                continue
            place = Place(level, file.path, store.scope, store.at)
            if store.annotation is not None:
                found.append(declared(ctx, place, store.annotation))
            found.append(weaken(evaluate(ctx, place, store.term)))
    found.append(ctx.read(("outer_stores", level, path, scope, name)))
    return join(found)


def _runs(ctx: Context, order: list[tuple[File, int]], store: AttributeWrite) -> bool:
    """Whether what the last class stores still holds when the ones before it have had their way."""
    method = order[-1][0].method_around(store.scope)
    name = "" if method is None else order[-1][0].scopes[method].name
    return all(is_handed_up(ctx, file, number, name, store.name) for file, number in order[:-1])


def outer_stores(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Rule: what other code stores as `name` in what proves to be an instance of the class."""
    owners = {(INSTANCE, path, scope), (SELF, path, scope), (CLASS, path, scope)}
    return _stored(ctx, level, owners, name)


def function_stores(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Rule: what is stored as attribute `name` of a function."""
    return _stored(ctx, level, {(FUNCTION, path, scope)}, name)


def _stored(ctx: Context, level: int, owners: set[Value], name: str) -> Values:
    if level == 0 or ctx.crowded(f"set {name}", _FEW_FILES):
        return EMPTY
    found: list[Values] = []
    for other in sorted(ctx.mentioning(f"set {name}")):
        file = ctx.file(other)
        if file is None:
            continue
        for number in file.stores_by_name.get(name, ()):
            store = file.lowered.stores[number]
            place = Place(level - 1, other, store.scope, store.at)
            if file.class_of_self(store.scope, store.base) is None and any(
                value in owners for value, _ in evaluate(ctx, place, store.base)
            ):
                found.append(weaken(evaluate(ctx, place, store.term)))
    return join(found)
