"""Nodes that the import statements of a file refer to."""

from collections.abc import Iterator

from remora.code.callgraph.abstract_values import CLASS, FUNCTION, INSTANCE, MODULE, Value
from remora.code.callgraph.analysis_context import Context
from remora.code.ir.model import IMPORT, IMPORT_FROM, Binding, unqualified_name
from remora.ids import MODULE as MODULE_NAME
from remora.ids import node_key


def imports_of(ctx: Context, path: str) -> Iterator[str]:
    """Yield the keys of imported nodes that the file mentions. An instance counts as its class."""
    if (file := ctx.file(path)) is None:
        return
    for number, scope in enumerate(file.scopes):
        for name, binds in scope.binds.items():
            for i, bind in enumerate(binds):
                for value in _imported_values(ctx, path, bind, ("bind", 0, path, number, name, i)):
                    found = _node(ctx, value)
                    if found and found[0] != path and imported_as(*found) in file.names:
                        yield node_key(*found)


def imported_as(path: str, qualname: str) -> str:
    """Return the name that a file must mention to import the node."""
    if qualname != MODULE_NAME:
        return unqualified_name(qualname).partition("#")[0]
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]


def _imported_values(
    ctx: Context, path: str, bind: Binding, question: tuple[str, int, str, int, str, int]
) -> Iterator[Value]:
    if bind.kind == IMPORT_FROM:
        yield from (value for value, _ in ctx.solve(question))
    elif bind.kind == IMPORT:
        for dotted in (bind.term, bind.extra):  # `import a.b` binds only `a`
            module = ctx.resolve_import(path, 0, dotted) if dotted else None
            if module is not None:
                yield module


def _node(ctx: Context, value: Value) -> tuple[str, str] | None:
    """Return (path, qualname) for the node that a value refers to, or None.

    An instance refers to its class.
    """
    if value[0] == MODULE:
        return value[1], MODULE_NAME
    if value[0] not in {CLASS, FUNCTION, INSTANCE}:
        return None
    if (file := ctx.definition_file(value[1], value[2])) is None:
        return None
    qualname = file.scopes[value[2]].qualname
    return (value[1], qualname) if file.nodes.get(qualname) == value[2] else None
