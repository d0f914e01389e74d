"""Which calls could call a function, and which classes could derive from one, by their names."""

from collections.abc import Iterator

from remora.code.resolve.context import Context
from remora.code.resolve.files import File
from remora.code.resolve.flows import MOST_RESULTS, RESULT, lambda_name, places

_MOST_FILES = 24
_MOST_CALLS = 48
_MOST_CLASS_FILES = 64


def call_sites(ctx: Context, file: File, scope: int) -> list[tuple[str, int]]:
    """(path, call) of what may call the function; nothing where that is too much to follow."""
    found: list[tuple[str, int]] = []
    for name in _names(ctx, file, scope):
        paths = (file.path,) if file.is_local(scope) else places(ctx.program, name)
        if len(paths) > _MOST_FILES:
            return []
        for path in sorted(paths):
            other = ctx.file(path)
            if other is None:
                continue
            for written in (name, *sorted(ctx.aliases(path, name))):
                found.extend((path, n) for n in other.flows.called.get(written, ()))
            if len(found) > _MOST_CALLS:
                return []
    return list(dict.fromkeys(found))


def deriving(ctx: Context, name: str) -> tuple[tuple[str, int], ...]:
    """(path, class) of the classes with a base of that name, or what files import it as."""
    if name not in ctx.deriving:
        ctx.deriving[name] = tuple(_deriving(ctx, name))
    return ctx.deriving[name]


def _deriving(ctx: Context, name: str) -> Iterator[tuple[str, int]]:
    names = {name}
    mentioning = ctx.program.mentioning(name)
    if len(mentioning) <= _MOST_CLASS_FILES:
        for path in mentioning:
            names.update(ctx.aliases(path, name))
    paths = {path for known in names for path in ctx.program.mentioning(f"class ({known}")}
    if len(paths) > _MOST_CLASS_FILES:
        return
    for path in sorted(paths):
        file = ctx.file(path)
        for number in file.classes if file is not None else ():
            bases = file.scopes[number].bases if file is not None else ()
            if file is not None and not names.isdisjoint(map(file.last_name, bases)):
                yield path, number


def _names(ctx: Context, file: File, scope: int) -> Iterator[str]:
    found = file.scopes[scope]
    if found.name == "__init__":
        owner = found.parent
        yield file.scopes[owner].name
        for below, _ in ctx.read(("derived", file.path, owner)):
            other = ctx.file(below[1])
            if other is not None:
                yield other.scopes[below[2]].name
    if found.name:
        yield found.name
        yield from _given_back(file, scope)
    else:
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
