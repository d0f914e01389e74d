"""Where a file's functions and classes stand, and what each of them is called."""

import ast
from typing import Any, NamedTuple

from remora.ids import MODULE, NodeKey, node_key

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = FunctionNode | ast.ClassDef
ImportNode = ast.Import | ast.ImportFrom

UNKNOWN_PARAMETER = "…"
"""Called so is the one parameter of a function whose parameters cannot be read."""

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
"""Everything that holds statements: the names of its blocks, in the order of the source."""
_LAST_FIRST = {kind: blocks[::-1] for kind, blocks in BLOCK_FIELDS.items()}
_IMPORTS: dict[type[ast.AST], tuple[str, ...]] = {ast.Import: (), ast.ImportFrom: ()}
_SOUGHT = {**_LAST_FIRST, **_IMPORTS}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Definition(NamedTuple):
    """A function or a class: its tree, its names, and the key of the node it stands in."""

    node: DefinitionNode
    qualname: str
    key: NodeKey
    parent: NodeKey


class Contents(NamedTuple):
    """Definitions and imports of a file at any depth, in source order."""

    definitions: list[Definition]
    imports: list[ImportNode]


class _Scope(NamedTuple):
    """What is nested in it is called `prefix` and its own name; `seen` counts those names."""

    prefix: str
    key: NodeKey
    seen: dict[str, int]


def contents(tree: ast.Module, spelled: str) -> Contents:
    """One pass over the statements of a file whose path in keys is `spelled`.

    It does not recurse, because `elif` chains nest deeply, and it looks into nothing that cannot
    hold a definition. A repeated name gets `#2`, `#3` in source order.
    """
    definitions: list[Definition] = []
    imports: list[ImportNode] = []
    # a definition may be called __module__ too: the module's own key comes first
    scope = _Scope("", node_key(spelled), {MODULE: 1})
    waiting: list[tuple[Any, _Scope]] = [(tree, scope)]
    while waiting:
        statement, scope = waiting.pop()
        kind = statement.__class__
        if kind in DEFINITIONS:
            definition = _named(statement, scope, spelled)
            definitions.append(definition)
            scope = _Scope(f"{definition.qualname}.", definition.key, {})
        elif kind in _IMPORTS:
            imports.append(statement)
        for name in _SOUGHT.get(kind, _BODY):
            # what comes first in the source has to come off first
            for each in reversed(getattr(statement, name)):
                if each.__class__ in _SOUGHT:
                    waiting.append((each, scope))  # noqa: PERF401 a generator costs more
    return Contents(definitions, imports)


def _named(node: DefinitionNode, scope: _Scope, spelled: str) -> Definition:
    name = node.name
    repeat = scope.seen[name] = scope.seen.get(name, 0) + 1
    qualname = scope.prefix + name if repeat == 1 else f"{scope.prefix}{name}#{repeat}"
    return Definition(node, qualname, node_key(spelled, qualname), scope.key)
