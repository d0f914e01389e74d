"""Names by which a node is called where nothing hands it about: its own, or those of its class."""

from collections.abc import Iterator
from typing import NamedTuple

from remora.code.callgraph.abstract_values import CLASS
from remora.code.callgraph.context import Context
from remora.code.callgraph.files.dataflow import RESULT
from remora.code.callgraph.files.ir_index import File
from remora.code.callgraph.names.call_targets import BY_BUILTIN, is_operator
from remora.code.callgraph.names.search_scope import MOST_NAMING
from remora.code.callgraph.rules.class_attributes import CLASS_METHODS
from remora.code.ir.model import CLASS_SCOPE, FUNCTION_SCOPE

CONSTRUCTORS = frozenset(("__init__", "__new__"))


class Name(NamedTuple):
    """A name that carries a value: in one file, or with an empty `path` in all."""

    name: str
    path: str


def first_names(ctx: Context, file: File, scope: int) -> Iterator[Name]:
    """Those of a function or class."""
    found = file.scopes[scope]
    in_class = found.parent >= 0 and file.scopes[found.parent].kind == CLASS_SCOPE
    if found.kind == CLASS_SCOPE:
        yield from names_of_class(ctx, file, scope, "")
    elif in_class and found.name in CONSTRUCTORS:
        yield from names_of_class(ctx, file, found.parent, "")
    elif in_class and found.name == "__call__":
        yield from names_of_class(ctx, file, found.parent, RESULT)
    if is_special(file, scope):
        yield from _operated(ctx, file, scope)
    else:
        yield Name(found.name, file.path if file.is_local(scope) else "")


def _operated(ctx: Context, file: File, scope: int) -> Iterator[Name]:
    """Syntax calls a special method only where its class is named, or one that derives."""
    own = file.scopes[scope].name
    parent = file.scopes[scope].parent
    above = ctx.solve(("mro", file.path, parent))  # what overrides is called there too
    classes = {(v[1], v[2]) for v, _ in above if v[0] == CLASS}
    for path, number in sorted(classes | family(ctx, file, parent)):
        other = ctx.head(path, number)
        name = other.scopes[number].name if other is not None else ""
        is_own = (path, number) == (file.path, parent)
        wide = is_own or not ctx.crowded(name, MOST_NAMING)
        near = ctx.mentioning(name) if wide else ()
        for place in sorted({path, *near}):
            yield Name(own, place)
            for called in BY_BUILTIN.get(own, ()):
                yield Name(called, place)


def names_of_class(ctx: Context, file: File, scope: int, suffix: str) -> Iterator[Name]:
    """Names of a class or, with RESULT, of its instances; derived ones among them."""
    below = [v for v, _ in ctx.solve(("derived", file.path, scope))]
    above = [v for v, _ in ctx.solve(("mro", file.path, scope)) if v[0] == CLASS]
    for value in ((CLASS, file.path, scope), *below):
        other = ctx.head(value[1], value[2])
        if other is not None:
            place = value[1] if other.is_local(value[2]) else ""
            yield Name(other.scopes[value[2]].name + suffix, place)
    for value in (*above, *below):
        other = ctx.around(value[1], value[2])
        if other is not None:
            for name in _first_parameters(other, value[2], of_type=not suffix):
                yield Name(name, value[1])
            if not suffix:
                yield Name("__class__", value[1])
                yield Name("type" + RESULT, value[1])


def family(ctx: Context, file: File, scope: int) -> set[tuple[str, int]]:
    """The class with all that derive from it."""
    below = ctx.solve(("derived", file.path, scope))
    return {(file.path, scope), *((v[1], v[2]) for v, _ in below)}


def is_special(file: File, scope: int) -> bool:
    """Whether it is a method that syntax calls."""
    found = file.scopes[scope]
    in_class = found.parent >= 0 and file.scopes[found.parent].kind == CLASS_SCOPE
    return in_class and is_operator(found.name)


def _first_parameters(file: File, scope: int, *, of_type: bool) -> Iterator[str]:
    for number, method in enumerate(file.scopes):
        if method.kind == FUNCTION_SCOPE and method.parent == scope and method.params:
            takes = "classmethod" in file.decorations(number) or method.name in CLASS_METHODS
            if takes == of_type:
                yield method.params[0].name
