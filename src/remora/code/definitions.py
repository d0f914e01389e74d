"""Where a file's functions and classes stand, and what each of them is called."""

import ast
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from remora.ids import MODULE, NodeKey, node_key

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
DefinitionNode = FunctionNode | ast.ClassDef
ImportNode = ast.Import | ast.ImportFrom

UNKNOWN = "…"
"""Called so is the one parameter of a function whose parameters cannot be read."""

_BODY = ("body",)
_TRY = ("body", "handlers", "orelse", "finalbody")
BLOCKS: dict[type[ast.AST], tuple[str, ...]] = {
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
_SOUGHT = frozenset((*BLOCKS, ast.Import, ast.ImportFrom))


class Definition(NamedTuple):
    """A function or a class: its tree, its names, and the key of the node it stands in."""

    node: DefinitionNode
    qualname: str
    key: NodeKey
    parent: NodeKey


class Outline(NamedTuple):
    """Definitions and imports of a file at any depth, in source order."""

    definitions: list[Definition]
    imports: list[ImportNode]


class _Scope(NamedTuple):
    """What is nested in it is called `prefix` and its own name; `seen` counts those names."""

    prefix: str
    key: NodeKey
    seen: Counter[str]


def outline(tree: ast.Module, spelled: str) -> Outline:
    """One pass over the statements of a file whose path in keys is `spelled`.

    It does not recurse, because `elif` chains nest deeply. A repeated name gets `#2`, `#3` in
    source order.
    """
    found = Outline([], [])
    # a definition may be called __module__ too: the module's own key comes first
    root = _Scope("", node_key(spelled), Counter({MODULE: 1}))
    waiting: list[tuple[ast.AST, _Scope]] = []
    _push(waiting, tree.body, root)
    while waiting:
        statement, scope = waiting.pop()
        if isinstance(statement, ImportNode):
            found.imports.append(statement)
            continue
        if isinstance(statement, DefinitionNode):
            definition = _named(statement, scope, spelled)
            found.definitions.append(definition)
            scope = _Scope(f"{definition.qualname}.", definition.key, Counter())
        for block in reversed(BLOCKS[statement.__class__]):
            _push(waiting, getattr(statement, block), scope)
    return found


def _named(node: DefinitionNode, scope: _Scope, spelled: str) -> Definition:
    scope.seen[node.name] += 1
    repeat = scope.seen[node.name]
    qualname = f"{scope.prefix}{node.name}" + (f"#{repeat}" if repeat > 1 else "")
    return Definition(node, qualname, node_key(spelled, qualname), scope.key)


def _push(waiting: list[tuple[ast.AST, _Scope]], block: Sequence[ast.AST], scope: _Scope) -> None:
    """What may hold definitions or import something, so that it comes off in source order."""
    waiting.extend((inner, scope) for inner in reversed(block) if inner.__class__ in _SOUGHT)
