"""Search by name for calls of a function, subclasses of a class, and the only method of a name."""

from collections.abc import Collection, Iterator
from typing import Final

from remora.code.callgraph.abstract_values import POSSIBLE, UNIQUE
from remora.code.callgraph.analysis_context import Context
from remora.code.callgraph.files.dataflow import (
    MAX_RESULT_DEPTH,
    RESULT,
    lambda_file,
    lambda_name,
    mentioned_name,
)
from remora.code.callgraph.files.ir_index import IndexedFile
from remora.ids import node_key

_MAX_FILES: Final = 24
_MAX_CALLS = 48
_MAX_CLASS_FILES: Final = 64
_MAX_METHOD_FILES: Final = 12
MAX_METHODS = 5
"""More methods are not alternatives: with 12, links found 1% more calls, and 30% more were wrong."""


def candidate_calls(ctx: Context, file: IndexedFile, scope: int) -> list[tuple[str, int]]:
    """Return (path, call) for each possible call to a function, or [] if there are too many."""
    found: list[tuple[str, int]] = []
    for name in _called_names(ctx, file, scope):
        paths = (file.path,) if file.is_local(scope) else _files_with_name(ctx, name)
        if paths is None:
            return []
        for path in sorted(paths):
            if (other := ctx.file(path)) is None:
                continue
            for called in (name, *sorted(ctx.aliases(name, path))):
                found.extend((path, n) for n in other.flows.calls_by_name.get(called, ()))
            if len(found) > _MAX_CALLS:
                return []
    return list(dict.fromkeys(found))


def candidate_subclasses(ctx: Context, name: str) -> tuple[tuple[str, int], ...]:
    """Return (path, class) for each class that has a base called `name` or one of its aliases."""
    return ctx.memoize(ctx.subclass_cache, name, lambda: tuple(_find_subclasses(ctx, name)))


def _find_subclasses(ctx: Context, name: str) -> Iterator[tuple[str, int]]:
    names = {name}
    if not ctx.is_common(name, _MAX_CLASS_FILES):
        names.update(ctx.aliases(name))
    paths = {path for known in names for path in ctx.mentioning(f"class ({known}")}
    if len(paths) > _MAX_CLASS_FILES:
        return
    for path in sorted(paths):
        if (file := ctx.interface_file(path)) is None:
            continue
        for number in file.classes:
            if not names.isdisjoint(map(file.term_name, file.scopes[number].bases)):
                yield path, number


def _files_with_name(ctx: Context, name: str) -> Collection[str] | None:
    """Return the files that may mention a flow name, or None if there are too many."""
    if not (mentioned := mentioned_name(name)):
        return (lambda_file(name),)
    return None if ctx.is_common(mentioned, _MAX_FILES) else ctx.mentioning(mentioned)


def _called_names(ctx: Context, file: IndexedFile, scope: int) -> Iterator[str]:
    found = file.scopes[scope]
    if found.name == "__init__":
        owner = found.parent
        yield file.scopes[owner].name
        for subclass, _ in ctx.read(("derived", file.path, owner)):
            if (other := ctx.definition_file(subclass[1], subclass[2])) is not None:
                yield other.scopes[subclass[2]].name
    if found.name:
        yield found.name
        yield from _factory_names(file, scope)
    else:
        ctx.file(file.path)  # any part of the file may give a lambda a name
        yield lambda_name(file.path, scope)
        yield from sorted(
            {f.target for f in file.flows.by_name.get(lambda_name(file.path, scope), ())}
        )


def _factory_names(file: IndexedFile, scope: int) -> Iterator[str]:
    """Yield `outer()` if the enclosing function `outer` returns the function.

    Yield `outermost()()` if `outermost` in turn returns `outer`, and so on.
    """
    suffix = ""
    for _ in range(MAX_RESULT_DEPTH):
        found = file.scopes[scope]
        outer = file.scopes[found.parent]
        if not any(term == found.name for _, term in outer.results):
            return
        suffix += RESULT
        yield outer.name + suffix
        scope = found.parent


CONSTRUCTORS = frozenset(("__init__", "__new__", "__post_init__", "__attrs_post_init__"))
FALLBACK_METHODS: dict[str, tuple[str, ...]] = {
    "__ne__": ("__eq__",),
    "__bool__": ("__len__",),
    "__contains__": ("__iter__",),
    "__getitem__": ("__class_getitem__",),
}
"""Maps each special method to those that Python calls if a class does not define it."""
EXTERNAL_METHOD_NAMES = frozenset(
    name
    for kind in (str, bytes, bytearray, int, float, complex, list, tuple, dict, set, frozenset)
    for name in dir(kind)
) | frozenset(
    (
        *("read", "write", "close", "open", "send", "recv", "flush", "seek", "readline"),
        *("readlines", "writelines", "fileno", "run", "start", "stop", "join", "put"),
        *("acquire", "release", "wait", "notify", "set", "clear", "get", "post", "delete"),
        *("patch", "head", "request", "execute", "commit", "rollback", "fetchone"),
        *("fetchall", "cursor", "connect", "debug", "info", "warning", "error", "exception"),
        *("critical", "log", "exists", "mkdir", "unlink", "rename", "match", "search"),
        *("fullmatch", "group", "groups", "finditer", "findall", "sub", "appendleft"),
        *("popleft", "most_common", "elements", "submit", "result", "done", "cancel"),
        *("shutdown", "name", "getvalue", "getbuffer", "readinto", "truncate", "read_text"),
        *("write_text", "read_bytes", "write_bytes", "is_file", "is_dir", "is_symlink"),
        *("iterdir", "touch", "rmdir", "glob", "rglob", "stat", "resolve"),
    )
)
"""Method names of builtins and common libraries. Their unknown receivers may be external."""


def methods_named(ctx: Context, name: str) -> tuple[tuple[str, int], ...]:
    """Return the keys and tiers of the methods called `name`, or nothing if there are too many.

    The tier is UNIQUE if nothing else has the name, else POSSIBLE. Special methods never count.
    """
    if name.startswith("__") or ctx.is_common(f"def {name}", _MAX_METHOD_FILES):
        return ()
    return ctx.memoize(ctx.method_cache, name, lambda: _find_methods(ctx, name))


def _find_methods(ctx: Context, name: str) -> tuple[tuple[str, int], ...]:
    defined: list[tuple[IndexedFile, int]] = []
    for path in sorted(ctx.mentioning(f"def {name}")):
        if (file := ctx.file(path)) is not None:
            numbers = file.nodes.values()
            defined.extend((file, n) for n in numbers if file.scopes[n].name == name)
    if len(defined) > MAX_METHODS:
        return ()
    tier = UNIQUE if len(defined) == 1 else POSSIBLE
    methods = ((file, n) for file, n in defined if n == file.enclosing_method(n))
    return tuple((node_key(file.path, file.scopes[n].qualname), tier) for file, n in methods)
