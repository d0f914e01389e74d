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
from remora.code.ir.lowering.builder import IRBuilder, LoweringFunction
from remora.code.ir.model import LoweredFile
from remora.code.syntax.definitions import Definition, ImportNode
from remora.ids import MODULE, NodeKey, node_key


class LoweringResult(NamedTuple):
    """`points` are the decisions in each definition's own body, counted as radon counts them.

    Definitions and imports are those at any depth, in source order.
    """

    lowered: LoweredFile
    definitions: list[Definition]
    imports: list[ImportNode]
    points: list[int]


def lower_module(path: str, tree: ast.Module) -> LoweringResult:
    """One file for the linker. `path` is spelled."""
    to = IRBuilder(path, _EXPRESSIONS, _STATEMENTS)
    waiting = to.waiting
    waiting.append((to.scope, tree.body, 0))
    while waiting:
        scope, body, block = waiting.popleft()
        to.enter(scope)
        to.owner = scope
        blocks.lower_body(to, body, block)
    definitions = _named(to)
    to.imports.sort(key=_place)
    points = [scope.points for _, scope in to.defined]
    return LoweringResult(to.close(), definitions, to.imports, points)


_place = attrgetter("lineno", "col_offset")


def _named(to: IRBuilder) -> list[Definition]:
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


def _nothing(_to: IRBuilder, _node: ast.AST) -> None:
    """What says nothing to a linker."""


_EXPRESSIONS: dict[type[ast.AST], LoweringFunction] = {
    **dict.fromkeys(ast.expr.__subclasses__(), _nothing),
    ast.Attribute: operators.lower_attribute,
    ast.Call: calls.lower_call,
    ast.Subscript: operators.lower_subscript,
    ast.List: literals.lower_sequence,
    ast.Tuple: literals.lower_sequence,
    ast.Set: literals.lower_sequence,
    ast.Dict: literals.lower_dict,
    ast.ListComp: literals.lower_comprehension,
    ast.SetComp: literals.lower_comprehension,
    ast.GeneratorExp: literals.lower_comprehension,
    ast.DictComp: literals.lower_dict_comprehension,
    ast.Lambda: parameters.lower_lambda,
    ast.BoolOp: operators.lower_boolean,
    ast.IfExp: operators.lower_conditional,
    ast.BinOp: operators.lower_binary,
    ast.UnaryOp: operators.lower_unary,
    ast.Compare: operators.lower_comparison,
    ast.Await: operators.lower_await,
    ast.Yield: parameters.lower_yield,
    ast.YieldFrom: parameters.lower_yield_from,
    ast.Starred: operators.lower_starred,
    ast.NamedExpr: parameters.lower_named_expression,
    ast.JoinedStr: operators.lower_f_string,
    ast.FormattedValue: operators.lower_f_string_field,
    ast.Slice: operators.lower_slice,
}
_STATEMENTS: dict[type[ast.AST], LoweringFunction] = {
    **dict.fromkeys(ast.stmt.__subclasses__(), _nothing),
    ast.Expr: statements.lower_expression_statement,
    ast.Assign: statements.lower_assignment,
    ast.AugAssign: statements.lower_augmented_assignment,
    ast.AnnAssign: statements.lower_annotated_assignment,
    ast.Return: statements.lower_return,
    ast.If: blocks.lower_if,
    ast.For: blocks.lower_for,
    ast.AsyncFor: blocks.lower_async_for,
    ast.While: blocks.lower_while,
    ast.With: blocks.lower_with,
    ast.AsyncWith: blocks.lower_async_with,
    ast.Try: blocks.lower_try,
    ast.TryStar: blocks.lower_try_star,
    ast.Match: blocks.lower_match,
    ast.FunctionDef: functions_and_classes.lower_function,
    ast.AsyncFunctionDef: functions_and_classes.lower_function,
    ast.ClassDef: functions_and_classes.lower_class,
    ast.Import: statements.lower_import,
    ast.ImportFrom: statements.lower_import_from,
    ast.Global: statements.lower_global,
    ast.Nonlocal: statements.lower_nonlocal,
    ast.Delete: statements.lower_delete,
    ast.Raise: statements.lower_raise,
    ast.Assert: statements.lower_assert,
}
