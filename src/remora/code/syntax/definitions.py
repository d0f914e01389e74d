"""Functions and classes in a file, with their qualnames and keys."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from remora.ids import MODULE, NodeKey, node_key

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = FunctionNode | ast.ClassDef
ImportNode = ast.Import | ast.ImportFrom

UNKNOWN_PARAMETER = "…"
"""Name of the only parameter of a function whose parameters cannot be parsed."""

_BODY = ("body",)
_TRY = ("body", "handlers", "orelse", "finalbody")
BLOCK_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.FunctionDef: _BODY,
    ast.AsyncFunctionDef: _BODY,
    ast.ClassDef: _BODY,
    ast.If: ("body", "orelse"),
    ast.For: ("body", "orelse"),
    ast.AsyncFor: ("body", "orelse"),
    ast.While: ("body", "orelse"),
    ast.With: _BODY,
    ast.AsyncWith: _BODY,
    ast.Try: _TRY,
    ast.TryStar: _TRY,
    ast.ExceptHandler: _BODY,
    ast.Match: ("cases",),
    ast.match_case: _BODY,
}
"""Maps node types with nested statements to the fields that contain them, in source order."""
_LAST_FIRST = {kind: blocks[::-1] for kind, blocks in BLOCK_FIELDS.items()}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Definition(NamedTuple):
    """A function or class. `parent` is the key of the enclosing node."""

    node: DefinitionNode
    qualname: str
    key: NodeKey
    parent: NodeKey


class _Scope(NamedTuple):
    """The scope in which nested definitions are named. `seen` counts the uses of each name."""

    prefix: str
    key: NodeKey
    seen: dict[str, int]


def find_definitions(tree: ast.Module, spelled: str) -> list[Definition]:
    """Return all definitions, including nested ones, in source order.

    Repeated names get `#2`, `#3` and so on. The search is iterative, so deep nesting cannot hit the
    recursion limit.
    """
    definitions: list[Definition] = []
    # reserve the module's own key: a definition may also be called __module__
    scope = _Scope("", node_key(spelled), {MODULE: 1})
    pending: list[tuple[Any, _Scope]] = [(tree, scope)]
    while pending:
        statement, scope = pending.pop()
        if (kind := statement.__class__) in DEFINITIONS:
            definition = _definition(statement, scope, spelled)
            definitions.append(definition)
            scope = _Scope(f"{definition.qualname}.", definition.key, {})
        for field in _LAST_FIRST.get(kind, _BODY):
            # reversed, because the stack pops the last one first
            for child in reversed(getattr(statement, field)):
                if child.__class__ in BLOCK_FIELDS:
                    pending.append((child, scope))  # noqa: PERF401 a generator costs more
    return definitions


def _definition(node: DefinitionNode, scope: _Scope, spelled: str) -> Definition:
    name = node.name
    repeat = scope.seen[name] = scope.seen.get(name, 0) + 1
    qualname = scope.prefix + name if repeat == 1 else f"{scope.prefix}{name}#{repeat}"
    return Definition(node, qualname, node_key(spelled, qualname), scope.key)


def first_line(node: DefinitionNode) -> int:
    """Return the number of the first line of a definition, including its decorators."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def default_values(args: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names and the default values of the parameters that have one."""
    placed = [*args.posonlyargs, *args.args]
    pairs = [
        *zip(placed[len(placed) - len(args.defaults) :], args.defaults, strict=True),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    yield from ((arg.arg, default) for arg, default in pairs if default is not None)


def assigned_values(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names and values of assignments that have one name as their target."""
    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                yield name, value
