"""The walk over a whole file."""

import ast
from operator import attrgetter
from typing import NamedTuple

from remora.code.ir.lowering import (
    blocks,
    calls,
    functions_and_classes,
    literals,
    operators,
    parameters,
    statements,
)
from remora.code.ir.lowering.builder import Builder, Maker
from remora.code.ir.model import Lowered
from remora.code.syntax.definitions import Definition, ImportNode
from remora.ids import MODULE, NodeKey, node_key


class Lowering(NamedTuple):
    """`points` are the decisions in each definition's own body, counted as radon counts them.

    Definitions and imports are those at any depth, in source order.
    """

    lowered: Lowered
    definitions: list[Definition]
    imports: list[ImportNode]
    points: list[int]


def lower(path: str, tree: ast.Module) -> Lowering:
    """One file for the linker. `path` is spelled."""
    to = Builder(path, _EXPRESSIONS, _STATEMENTS)
    waiting = to.waiting
    waiting.append((to.scope, tree.body, 0))
    while waiting:
        scope, body, block = waiting.popleft()
        to.enter(scope)
        to.owner = scope
        blocks.body(to, body, block)
    definitions = _named(to)
    to.imports.sort(key=_place)
    points = [scope.points for _, scope in to.defined]
    return Lowering(to.close(), definitions, to.imports, points)


_place = attrgetter("lineno", "col_offset")


def _named(to: Builder) -> list[Definition]:
    """A repeated name gets `#2`, `#3` in source order."""
    module = to.scopes[0]
    module.key, above = node_key(to.path), node_key(to.path, "")
    # a definition may be called __module__ too: the module's own key comes first
    seen = {MODULE: 1}
    defined = to.defined
    defined.sort(key=lambda each: each[0].lineno)
    definitions = []
    for node, scope in defined:
        parent = scope.parent or module
        name = node.name if parent is module else f"{parent.qualname}.{node.name}"
        if name in seen:
            seen[name] += 1
            name = f"{name}#{seen[name]}"
        else:
            seen[name] = 1
        scope.qualname = name
        scope.key = NodeKey(above + name)
        definitions.append(Definition(node, name, scope.key, parent.key))
    return definitions


def _nothing(_to: Builder, _node: ast.AST) -> None:
    """What says nothing to a linker."""


_EXPRESSIONS: dict[type[ast.AST], Maker] = {
    **dict.fromkeys(ast.expr.__subclasses__(), _nothing),
    ast.Attribute: operators.attribute,
    ast.Call: calls.call,
    ast.Subscript: operators.subscript,
    ast.List: literals.display,
    ast.Tuple: literals.display,
    ast.Set: literals.display,
    ast.Dict: literals.mapping,
    ast.ListComp: literals.comprehension,
    ast.SetComp: literals.comprehension,
    ast.GeneratorExp: literals.comprehension,
    ast.DictComp: literals.mapping_comprehension,
    ast.Lambda: parameters.function,
    ast.BoolOp: operators.logical,
    ast.IfExp: operators.conditional,
    ast.BinOp: operators.operator,
    ast.UnaryOp: operators.unary,
    ast.Compare: operators.compare,
    ast.Await: operators.awaited,
    ast.Yield: parameters.yielded,
    ast.YieldFrom: parameters.yielded_from,
    ast.Starred: operators.starred,
    ast.NamedExpr: parameters.walrus,
    ast.JoinedStr: operators.text,
    ast.FormattedValue: operators.formatted,
    ast.Slice: operators.bounds,
}
_STATEMENTS: dict[type[ast.AST], Maker] = {
    **dict.fromkeys(ast.stmt.__subclasses__(), _nothing),
    ast.Expr: statements.alone,
    ast.Assign: statements.assignment,
    ast.AugAssign: statements.augmented,
    ast.AnnAssign: statements.annotated,
    ast.Return: statements.result,
    ast.If: blocks.branch,
    ast.For: blocks.loop,
    ast.AsyncFor: blocks.waiting_loop,
    ast.While: blocks.repetition,
    ast.With: blocks.context,
    ast.AsyncWith: blocks.waiting_context,
    ast.Try: blocks.attempt,
    ast.TryStar: blocks.attempt_group,
    ast.Match: blocks.match,
    ast.FunctionDef: functions_and_classes.function,
    ast.AsyncFunctionDef: functions_and_classes.function,
    ast.ClassDef: functions_and_classes.class_,
    ast.Import: statements.imported,
    ast.ImportFrom: statements.imported_from,
    ast.Global: statements.global_,
    ast.Nonlocal: statements.nonlocal_,
    ast.Delete: statements.deletion,
    ast.Raise: statements.raised,
    ast.Assert: statements.asserted,
}
