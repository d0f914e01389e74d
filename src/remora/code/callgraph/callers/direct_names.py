"""Names of a node and of its class, excluding aliases."""

from collections.abc import Iterator
from typing import NamedTuple

from remora.code.callgraph.abstract_values import CLASS
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.files.dataflow import RESULT
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.code.callgraph.names.call_targets import (
    BUILTINS_BY_METHOD,
    DESCRIPTOR_METHODS,
    is_operator_method,
)
from remora.code.callgraph.names.name_candidates import CONSTRUCTORS, FALLBACK_METHODS
from remora.code.callgraph.names.search_scope import MAX_CLASS_NAME_FILES
from remora.code.ir.model import CLASS_SCOPE, FUNCTION_SCOPE, METACLASS, VALUE, dispatch_name


class Name(NamedTuple):
    """A name that may hold a value in one file, or in all files if `path` is empty."""

    name: str
    path: str


def direct_names(ctx: Context, file: IndexedFile, scope: int) -> Iterator[Name]:
    """Yield the direct names of a function or class."""
    definition, owner = file.scopes[scope], file.owner_class(scope)
    if definition.kind == CLASS_SCOPE:
        yield from class_names(ctx, file, scope, "")
    elif owner is not None and definition.name in CONSTRUCTORS:
        yield from class_names(ctx, file, owner, "")
    elif owner is not None and definition.name == "__call__":
        yield from class_names(ctx, file, owner, RESULT)
    if owner is not None and definition.name in {"__call__", *DESCRIPTOR_METHODS}:
        yield from _made_names(ctx, file, owner)
    if is_special_method(file, scope):
        yield from _operator_names(ctx, file, scope)
    else:
        yield Name(definition.name, file.path if file.is_local(scope) else "")
        if (dispatched := dispatch_name(definition.name)) and not file.is_local(scope):
            yield Name(dispatched, "")


def _made_names(ctx: Context, file: IndexedFile, scope: int) -> Iterator[Name]:
    """Yield the names of the class attributes that a descriptor makes, or a metaclass's classes."""
    family = ((ctx.definition_file(path, n), n) for path, n in class_family(ctx, file, scope))
    own = {home.scopes[number].name for home, number in family if home is not None}
    for name in sorted(own.union(*map(ctx.aliases, own))):
        for other in filter(None, map(ctx.interface_file, sorted(ctx.mentioning(f"made {name}")))):
            for number in other.classes:
                for key, binds in other.scopes[number].binds.items():
                    terms = (bind.term if bind.kind == VALUE else bind.extra for bind in binds)
                    if name in map(other.term_name, terms):
                        yield Name(key, "")
                        if key == METACLASS:
                            yield from class_names(ctx, other, number, "")


def _operator_names(ctx: Context, file: IndexedFile, scope: int) -> Iterator[Name]:
    """Yield the names of a special method in files that mention its class or a related one."""
    method = file.scopes[scope].name
    parent = file.scopes[scope].parent
    mro = ctx.solve(("mro", file.path, parent))  # a call on a base may run an override
    classes = {(v[1], v[2]) for v, _ in mro if v[0] == CLASS}
    for path, number in sorted(classes | class_family(ctx, file, parent)):
        other = ctx.definition_file(path, number)
        name = other.scopes[number].name if other is not None else ""
        is_defining_class = (path, number) == (file.path, parent)
        searchable = is_defining_class or not ctx.is_common(name, MAX_CLASS_NAME_FILES)
        near = ctx.mentioning(name) if searchable else ()
        for place in sorted({path, *near}):
            missing = (name for name, others in FALLBACK_METHODS.items() if method in others)
            for special in (method, *missing):
                for called in (special, *BUILTINS_BY_METHOD.get(special, ())):
                    yield Name(called, place)


def class_names(ctx: Context, file: IndexedFile, scope: int, suffix: str) -> Iterator[Name]:
    """Yield the names of a class and its subclasses.

    If `suffix` is RESULT, yield the names of their instances instead.
    """
    subclasses = [v for v, _ in ctx.solve(("derived", file.path, scope))]
    mro = [v for v, _ in ctx.solve(("mro", file.path, scope)) if v[0] == CLASS]
    for value in ((CLASS, file.path, scope), *subclasses):
        if (other := ctx.definition_file(value[1], value[2])) is not None:
            place = value[1] if other.is_local(value[2]) else ""
            yield Name(other.scopes[value[2]].name + suffix, place)
    for value in (*mro, *subclasses):
        if (other := ctx.scope_file(value[1], value[2])) is not None:
            for name in _first_parameters(other, value[2], of_type=not suffix):
                yield Name(name, value[1])
            if not suffix:
                yield Name("__class__", value[1])
                yield Name("type" + RESULT, value[1])


def class_family(ctx: Context, file: IndexedFile, scope: int) -> set[tuple[str, int]]:
    """Return (path, scope) for a class and all its subclasses."""
    subclasses = ctx.solve(("derived", file.path, scope))
    return {(file.path, scope), *((v[1], v[2]) for v, _ in subclasses)}


def is_special_method(file: IndexedFile, scope: int) -> bool:
    return file.owner_class(scope) is not None and is_operator_method(file.scopes[scope].name)


def _first_parameters(file: IndexedFile, scope: int, *, of_type: bool) -> Iterator[str]:
    for number, method in enumerate(file.scopes):
        is_method = method.kind == FUNCTION_SCOPE and method.parent == scope
        if is_method and method.params and file.takes_class(number) == of_type:
            yield method.params[0].name
