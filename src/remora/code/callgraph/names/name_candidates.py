"""Which calls could call a function, and which classes could derive from one, by their names."""

from collections.abc import Collection, Iterator
from typing import Final

from remora.code.callgraph.context import Context
from remora.code.callgraph.files.dataflow import (
    MOST_RESULTS,
    RESULT,
    lambda_name,
    mentioned_as,
    only_place,
)
from remora.code.callgraph.files.ir_index import File

_MOST_FILES: Final = 24
_MOST_CALLS = 48
_MOST_CLASS_FILES: Final = 64


def call_sites(ctx: Context, file: File, scope: int) -> list[tuple[str, int]]:
    """(path, call) of what may call the function; nothing where that is too much to follow."""
    found: list[tuple[str, int]] = []
    for name in _names(ctx, file, scope):
        paths = (file.path,) if file.is_local(scope) else _places(ctx, name)
        if paths is None:
            return []
        for path in sorted(paths):
            other = ctx.file(path)
            if other is None:
                continue
            for written in (name, *sorted(ctx.aliases(name, path))):
                found.extend((path, n) for n in other.flows.called.get(written, ()))
            if len(found) > _MOST_CALLS:
                return []
    return list(dict.fromkeys(found))


def deriving(ctx: Context, name: str) -> tuple[tuple[str, int], ...]:
    """(path, class) of the classes with a base of that name, or what files import it as."""
    return ctx.remembered(ctx.deriving, name, lambda: tuple(_deriving(ctx, name)))


def _deriving(ctx: Context, name: str) -> Iterator[tuple[str, int]]:
    names = {name}
    if not ctx.crowded(name, _MOST_CLASS_FILES):
        names.update(ctx.aliases(name))
    paths = {path for known in names for path in ctx.mentioning(f"class ({known}")}
    if len(paths) > _MOST_CLASS_FILES:
        return
    for path in sorted(paths):
        file = ctx.surface(path)
        for number in file.classes if file is not None else ():
            bases = file.scopes[number].bases if file is not None else ()
            if file is not None and not names.isdisjoint(map(file.written, bases)):
                yield path, number


def _places(ctx: Context, name: str) -> Collection[str] | None:
    """Paths of the files that may mention a name of flows; None where they are too many."""
    mentioned = mentioned_as(name)
    if not mentioned:
        return (only_place(name),)
    return None if ctx.crowded(mentioned, _MOST_FILES) else ctx.mentioning(mentioned)


def _names(ctx: Context, file: File, scope: int) -> Iterator[str]:
    found = file.scopes[scope]
    if found.name == "__init__":
        owner = found.parent
        yield file.scopes[owner].name
        for below, _ in ctx.read(("derived", file.path, owner)):
            other = ctx.head(below[1], below[2])
            if other is not None:
                yield other.scopes[below[2]].name
    if found.name:
        yield found.name
        yield from _given_back(file, scope)
    else:
        ctx.file(file.path)  # what carries a lambda may stand anywhere in it
        yield lambda_name(file.path, scope)
        yield from sorted(
            {f.target for f in file.flows.targets.get(lambda_name(file.path, scope), ())}
        )


def _given_back(file: File, scope: int) -> Iterator[str]:
    """`outer()`, where `outer` returns the function that it defines; and so on outward."""
    suffix = ""
    for _ in range(MOST_RESULTS):
        found = file.scopes[scope]
        around = file.scopes[found.parent]
        if not any(term == found.name for _, term in around.results):
            return
        suffix += RESULT
        yield around.name + suffix
        scope = found.parent
