"""Lowering of a whole file, using a table that maps syntax nodes to lowering functions."""

import ast
from collections import deque
from operator import attrgetter
from typing import NamedTuple

from remora.code.ir.lowering import (
    blocks,
    calls,
    expressions,
    functions_and_classes,
    operators,
    statements,
)
from remora.code.ir.lowering.builder import IRBuilder, LoweringFunction, PendingBody
from remora.code.ir.model import LoweredFile
from remora.code.syntax.definitions import Definition, ImportNode
from remora.ids import MODULE, NodeKey, node_key


class LoweringResult(NamedTuple):
    """The IR, definitions and imports of a file, and the number of branches in each definition."""

    lowered: LoweredFile
    definitions: list[Definition]
    imports: list[ImportNode]
    branches: list[int]


def lower_module(path: str, tree: ast.Module) -> LoweringResult:
    """Lower one file. `path` is escaped as in node keys.

    Functions come last, so that no number of what is outside of them depends on their bodies.
    """
    builder = IRBuilder(path, _EXPRESSIONS, _STATEMENTS)
    builder.is_lazy = any(map(_defines_getattr, tree.body))
    builder.class_bodies.append((builder.scope, tree.body, 0))
    _lower_pending(builder, builder.class_bodies)
    builder.outer_statements = len(builder.statements)
    while builder.function_bodies:
        _lower_pending(builder, builder.function_bodies)
        _lower_pending(builder, builder.class_bodies)
    definitions = _name_definitions(builder)
    builder.imports.sort(key=_position)
    branches = [scope.branches for _, scope in builder.definitions]
    return LoweringResult(builder.build(), definitions, builder.imports, branches)


def _defines_getattr(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef("__getattr__") | ast.Assign(
            [ast.Tuple([ast.Name("__getattr__"), *_])]
        ):
            return True
    return False


def _lower_pending(builder: IRBuilder, pending: deque[PendingBody]) -> None:
    while pending:
        scope, body, block = pending.popleft()
        builder.enter(scope)
        builder.counted_scope = scope
        blocks.lower_body(builder, body, block)


_position = attrgetter("lineno", "col_offset")


def _name_definitions(builder: IRBuilder) -> list[Definition]:
    """Assign qualnames to all definitions. Repeated names get `#2`, `#3` and so on."""
    module = builder.scopes[0]
    module.key, prefix = node_key(builder.path), node_key(builder.path, "")
    # reserve the module's own key: a definition may also be called __module__
    seen = {MODULE: 1}
    defined = builder.definitions
    defined.sort(key=lambda definition: definition[0].lineno)
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
        scope.key = NodeKey(prefix + name)
        definitions.append(Definition(node, name, scope.key, parent.key))
    return definitions


def _ignore(_builder: IRBuilder, _node: ast.AST) -> None:
    """Ignore a node that is irrelevant to the call graph."""


_EXPRESSIONS: dict[type[ast.AST], LoweringFunction] = {
    **dict.fromkeys(ast.expr.__subclasses__(), _ignore),
    ast.Attribute: operators.lower_attribute,
    ast.Call: calls.lower_call,
    ast.Subscript: operators.lower_subscript,
    ast.List: operators.lower_sequence,
    ast.Tuple: operators.lower_sequence,
    ast.Set: operators.lower_sequence,
    ast.Dict: operators.lower_dict,
    ast.ListComp: operators.lower_comprehension,
    ast.SetComp: operators.lower_comprehension,
    ast.GeneratorExp: operators.lower_comprehension,
    ast.DictComp: operators.lower_comprehension,
    ast.Lambda: functions_and_classes.lower_lambda,
    ast.BoolOp: operators.lower_boolean,
    ast.IfExp: operators.lower_conditional,
    ast.BinOp: operators.lower_binary,
    ast.UnaryOp: operators.lower_unary,
    ast.Compare: operators.lower_comparison,
    ast.Await: operators.lower_await,
    ast.Yield: functions_and_classes.lower_yield,
    ast.YieldFrom: functions_and_classes.lower_yield_from,
    ast.Starred: operators.lower_starred,
    ast.NamedExpr: expressions.lower_named_expression,
    ast.JoinedStr: operators.lower_f_string,
    ast.FormattedValue: expressions.lower_parts,
    ast.Slice: expressions.lower_parts,
}
_STATEMENTS: dict[type[ast.AST], LoweringFunction] = {
    **dict.fromkeys(ast.stmt.__subclasses__(), _ignore),
    ast.Expr: statements.lower_expression_statement,
    ast.Assign: statements.lower_assignment,
    ast.AugAssign: statements.lower_augmented_assignment,
    ast.AnnAssign: statements.lower_annotated_assignment,
    ast.Return: statements.lower_return,
    ast.If: blocks.lower_if,
    ast.For: blocks.lower_for,
    ast.AsyncFor: blocks.lower_for,
    ast.While: blocks.lower_while,
    ast.With: blocks.lower_with,
    ast.AsyncWith: blocks.lower_with,
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
    ast.Raise: expressions.lower_parts,
    ast.Assert: statements.lower_assert,
}
