"""Rules for values assigned to attributes through `self`, by other code, or as dataclass fields."""

from typing import Final

from remora.code.callgraph import abstract_values as kinds
from remora.code.callgraph.abstract_values import EMPTY, Value, Values, join, weaken
from remora.code.callgraph.analysis_context import Context, ProgramPoint
from remora.code.callgraph.rules.declared_types import declared_values
from remora.code.callgraph.rules.hierarchy import is_dataclass, project_mro
from remora.code.callgraph.rules.points_to import evaluate

_MAX_FILES: Final = 12


def attribute_stores(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Return the values stored in attribute `name` of the instances of a class."""
    found: list[Values] = []
    for file, number in project_mro(ctx, (kinds.CLASS, path, scope)):
        if is_dataclass(file, number) and name in file.scopes[number].binds:
            found.append(ctx.read(("field", level, file.path, number, name)))
        if stores := file.self_stores.get((number, name), ()):
            ctx.file(file.path)  # the answer depends on the method bodies
        for store in stores:
            point = ProgramPoint(level, file.path, store.scope, store.at)
            if store.annotation is not None:
                found.append(declared_values(ctx, point, store.annotation))
            found.append(weaken(evaluate(ctx, point, store.term)))
    found.append(ctx.read(("outer_stores", level, path, scope, name)))
    return join(found)


def outer_stores(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Return the values that other code assigns to an attribute of the class or its instances."""
    owners = {(kinds.INSTANCE, path, scope), (kinds.SELF, path, scope), (kinds.CLASS, path, scope)}
    return _external_stores(ctx, level, owners, name)


def function_stores(ctx: Context, level: int, path: str, scope: int, name: str) -> Values:
    """Return the values assigned to attribute `name` of a function."""
    return _external_stores(ctx, level, {(kinds.FUNCTION, path, scope)}, name)


def _external_stores(ctx: Context, level: int, owners: set[Value], name: str) -> Values:
    if level == 0 or ctx.is_common(f"set {name}", _MAX_FILES):
        return EMPTY
    found: list[Values] = []
    for other in sorted(ctx.mentioning(f"set {name}")):
        if (file := ctx.file(other)) is None:
            continue
        for number in file.stores_by_name.get(name, ()):
            store = file.lowered.stores[number]
            point = ProgramPoint(level - 1, other, store.scope, store.at)
            if file.class_of_self(store.scope, store.base) is None and any(
                value in owners for value, _ in evaluate(ctx, point, store.base)
            ):
                found.append(weaken(evaluate(ctx, point, store.term)))
    return join(found)
