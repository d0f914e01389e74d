"""Lowering of compound statements and their blocks."""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from remora.code.ir import model as ir
from remora.code.ir.lowering.builder import IRBuilder, Types
from remora.code.ir.lowering.expressions import (
    assign_target,
    lower_deep,
    lower_expression,
    record_implicit_call,
    record_truth,
)
from remora.code.ir.lowering.narrowing import NOTHING, lower_narrowed, types_if
from remora.code.ir.lowering.operators import record_iteration
from remora.code.ir.model import Block

_LEAVES = frozenset((ast.Return, ast.Raise))
_LEAVES_BLOCK = _LEAVES | {ast.Continue, ast.Break}
_IF = ast.If


def lower_body(
    builder: IRBuilder, statements: Sequence[ast.stmt], block: int, types: Types = NOTHING
) -> None:
    """Lower the statements of one block, in which these types are known."""
    outside, builder.block = builder.block, block
    blocks, steps = builder.statements, builder.statement_handlers
    builder.push_types(types)
    for statement in statements:
        builder.statement = len(blocks)
        blocks.append(block)
        steps[statement.__class__](builder, statement)
        if builder.deep:
            lower_deep(builder)
    builder.types.pop()
    builder.block = outside


def lower_if(builder: IRBuilder, node: ast.If) -> None:
    group = builder.new_group()
    arms = [node]
    rest: Any = node.orelse
    while len(rest) == 1 and rest[0].__class__ is _IF:
        arms.append(rest[0])
        rest = rest[0].orelse
    builder.counted_scope.branches += len(arms)
    count = len(arms) + 1 if rest else 0
    otherwise: Types = {}
    all_leave = True
    for arm in arms:
        test, statements = arm.test, arm.body
        if arm is not node:
            builder.start_statement(builder.block)
        record_truth(builder, test, lower_narrowed(builder, otherwise, test))
        flags = ir.NEVER_RUNS if test.__class__ is ast.Constant and not test.value else 0
        block = _open_block(builder, statements, group, count, flags)
        lower_body(builder, statements, block, otherwise | types_if(builder, test, holds=True))
        all_leave = all_leave and statements[-1].__class__ in _LEAVES_BLOCK
        known = builder.types[-1] if all_leave else otherwise
        known |= types_if(builder, test, holds=False)
    if rest:
        lower_body(builder, rest, _open_block(builder, rest, group, count), otherwise)


def lower_for(builder: IRBuilder, node: ast.For | ast.AsyncFor) -> None:
    source = lower_expression(builder, node.iter)
    if node.__class__ is ast.For:
        record_iteration(builder, source, node.iter.lineno)
    item = None if source is None else (ir.ELEMENT, source)
    _lower_loop(builder, node, lambda: assign_target(builder, node.target, item))


def lower_while(builder: IRBuilder, node: ast.While) -> None:
    test = node.test
    _lower_loop(builder, node, lambda: record_truth(builder, test, lower_expression(builder, test)))


def lower_with(builder: IRBuilder, node: ast.With | ast.AsyncWith) -> None:
    is_async = node.__class__ is ast.AsyncWith
    prefix = "__a" if is_async else "__"
    for item in node.items:
        manager = item.context_expr
        term = lower_expression(builder, manager)
        record_implicit_call(builder, term, f"{prefix}enter__", manager.lineno)
        record_implicit_call(builder, term, f"{prefix}exit__", manager.lineno)
        if item.optional_vars is not None:
            entered = None if term is None else (ir.ENTERED, term, is_async)
            assign_target(builder, item.optional_vars, entered)
    lower_body(builder, node.body, builder.block)


def lower_try(builder: IRBuilder, node: ast.Try) -> None:
    builder.counted_scope.branches += len(node.handlers) + bool(node.orelse)
    lower_try_star(builder, node)


def lower_try_star(builder: IRBuilder, node: Any) -> None:
    """Lower `try` with `except*`, whose handlers do not count as branches."""
    group = builder.new_group()
    arms = 1 + len(node.handlers)
    block = _open_block(builder, node.orelse or node.body, group, arms, ir.IN_TRY)
    lower_body(builder, node.body, block)
    lower_body(builder, node.orelse, block)
    for handler in node.handlers:
        block = _open_block(builder, handler.body, group, arms, ir.IN_TRY)
        kind = None if handler.type is None else lower_expression(builder, handler.type)
        if handler.name is not None:
            outside, builder.block = builder.block, block
            builder.start_statement(block)
            builder.bind(handler.name, ir.VALUE, None if kind is None else (ir.INSTANCE, kind))
            builder.block = outside
        lower_body(builder, handler.body, block)
    lower_body(builder, node.finalbody, builder.block)


def lower_match(builder: IRBuilder, node: ast.Match) -> None:
    has_wildcard = any(getattr(case.pattern, "pattern", False) is None for case in node.cases)
    builder.counted_scope.branches += max(0, len(node.cases) - has_wildcard)
    subject = lower_expression(builder, node.subject)
    group = builder.new_group()
    for case in node.cases:
        block = _open_block(builder, case.body, group, len(node.cases) if has_wildcard else 0)
        outside, builder.block = builder.block, block
        builder.start_statement(block)
        types = dict(_bind_captures(builder, case.pattern, node.subject, subject))
        if case.guard is not None:
            lower_narrowed(builder, types, case.guard)
            types |= types_if(builder, case.guard, holds=True)
        builder.block = outside
        lower_body(builder, case.body, block, types)


def _open_block(
    builder: IRBuilder, statements: Sequence[ast.stmt], group: int, arms: int, flags: int = 0
) -> int:
    if statements and statements[-1].__class__ in _LEAVES:
        flags |= ir.LEAVES_FUNCTION
    builder.blocks.append(Block(builder.block, group, arms, flags))
    return len(builder.blocks) - 1


def _lower_loop(
    builder: IRBuilder, node: ast.For | ast.AsyncFor | ast.While, lower_head: Callable[[], object]
) -> None:
    """Lower a loop. `lower_head` lowers what each iteration begins with."""
    builder.counted_scope.branches += 1 + bool(node.orelse)
    block = _open_block(builder, node.body, builder.new_group(), 0, ir.LOOP)
    outside, builder.block = builder.block, block
    builder.start_statement(block)
    lower_head()
    types = types_if(builder, node.test, holds=True) if isinstance(node, ast.While) else NOTHING
    builder.block = outside
    lower_body(builder, node.body, block, types)
    if node.orelse:
        lower_body(builder, node.orelse, _open_block(builder, node.orelse, builder.new_group(), 0))


def _bind_captures(
    builder: IRBuilder, pattern: ast.pattern, subject: ast.expr, term: Any
) -> Iterator[tuple[str, Any]]:
    """Bind the names of a pattern, and yield the narrowed subject."""
    for name, kind in _captures(pattern):
        if name is not None:
            whole_term = term if getattr(pattern, "name", None) == name and kind is None else None
            builder.bind(
                name,
                ir.VALUE,
                whole_term if kind is None else (ir.INSTANCE, lower_expression(builder, kind)),
            )
        elif kind is not None:
            instance = (ir.INSTANCE, lower_expression(builder, kind))
            if isinstance(subject, ast.Name):
                yield subject.id, (ir.NARROWED, subject.id, instance)


def _captures(pattern: ast.pattern) -> Iterator[tuple[str | None, ast.expr | None]]:
    """Yield the name and class of each capture in a `match` pattern.

    The name is None if the pattern narrows the subject itself. The class is None if the pattern has
    no class.
    """
    pending: list[tuple[ast.pattern, bool]] = [(pattern, True)]
    while pending:
        found, whole = pending.pop()
        name: str | None = getattr(found, "name", None) or getattr(found, "rest", None)
        inner = getattr(found, "pattern", None)
        kind = found.cls if isinstance(found, ast.MatchClass) else None
        if isinstance(inner, ast.MatchClass):
            kind = inner.cls
        if name is not None or (whole and kind is not None and inner is None):
            yield name, kind
        parts = [*getattr(found, "patterns", ()), *getattr(found, "kwd_patterns", ())]
        pending.extend((part, False) for part in parts)
        if inner is not None:
            pending.append((inner, whole))
