"""Statements with blocks: what runs together, and what runs instead of it."""

import ast
from collections.abc import Sequence
from typing import Any

from remora.code.ir.lowering.assignment_targets import assign_target
from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.lowering.expressions import lower_expression, record_implicit_call
from remora.code.ir.lowering.literals import record_iteration
from remora.code.ir.lowering.match_patterns import captures
from remora.code.ir.model import (
    ELEMENT,
    ENTERED,
    IN_TRY,
    INSTANCE,
    LEAVES_FUNCTION,
    LOOP,
    NARROWED,
    VALUE,
    Block,
)

_LEAVING = frozenset((ast.Return, ast.Raise))
_MAY_NARROW = frozenset((ast.Call, ast.BoolOp))
_IF = ast.If


def lower_body(to: IRBuilder, statements: Sequence[ast.stmt], block: int) -> None:
    """Statements that run together."""
    outside, to.block = to.block, block
    blocks, steps = to.statements, to.steps
    for statement in statements:
        to.at = len(blocks)
        blocks.append(block)
        steps[statement.__class__](to, statement)
    to.block = outside


def lower_if(to: IRBuilder, node: ast.If) -> None:
    """`if`, with all its `elif`: a chain of them nests as deeply as it is long."""
    group = to.new_group()
    arms = [node]
    rest: Any = node.orelse
    while len(rest) == 1 and rest[0].__class__ is _IF:
        arms.append(rest[0])
        rest = rest[0].orelse
    to.owner.points += len(arms)
    count = len(arms) + 1 if rest else 0
    for arm in arms:
        test, statements = arm.test, arm.body
        lower_expression(to, test)
        block = _open_block(to, statements, group, count)
        if test.__class__ in _MAY_NARROW:
            record_narrowing(to, test, block)
        lower_body(to, statements, block)
    if rest:
        lower_body(to, rest, _open_block(to, rest, group, count))


def record_narrowing(to: IRBuilder, test: Any, block: int) -> None:
    """`isinstance(x, C)` says what `x` is in the block, or from here on."""
    while test.__class__ is ast.BoolOp and test.op.__class__ is ast.And:
        test = test.values[0]
    if test.__class__ is not ast.Call:
        return
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
            outside, to.block = to.block, block
            to.step(block)
            to.bind(name, NARROWED, (INSTANCE, lower_expression(to, kind)))
            to.block = outside


def lower_for(to: IRBuilder, node: ast.For) -> None:
    """`for`."""
    source = lower_expression(to, node.iter)
    record_iteration(to, source, node.iter.lineno)
    _each(to, node, source)


def lower_async_for(to: IRBuilder, node: ast.AsyncFor) -> None:
    """`async for`."""
    _each(to, node, lower_expression(to, node.iter))


def lower_while(to: IRBuilder, node: ast.While) -> None:
    """`while`."""
    to.owner.points += 1 + bool(node.orelse)
    block = _open_block(to, node.body, to.new_group(), 0, LOOP)
    outside, to.block = to.block, block
    to.step(block)
    lower_expression(to, node.test)
    to.block = outside
    lower_body(to, node.body, block)
    _otherwise(to, node.orelse)


def lower_with(to: IRBuilder, node: ast.With) -> None:
    """`with`."""
    _enter(to, node, "__enter__", "__exit__")


def lower_async_with(to: IRBuilder, node: ast.AsyncWith) -> None:
    """`async with`."""
    _enter(to, node, "__aenter__", "__aexit__")


def lower_try(to: IRBuilder, node: ast.Try) -> None:
    """`try`: the handlers run instead of the rest of its body."""
    to.owner.points += len(node.handlers) + bool(node.orelse)
    lower_try_star(to, node)


def lower_try_star(to: IRBuilder, node: Any) -> None:
    """`try` with `except*`, of which complexity knows nothing."""
    group = to.new_group()
    arms = 1 + len(node.handlers)
    block = _open_block(to, node.orelse or node.body, group, arms, IN_TRY)
    lower_body(to, node.body, block)
    lower_body(to, node.orelse, block)
    for handler in node.handlers:
        block = _open_block(to, handler.body, group, arms, IN_TRY)
        kind = None if handler.type is None else lower_expression(to, handler.type)
        if handler.name is not None:
            outside, to.block = to.block, block
            to.step(block)
            to.bind(handler.name, VALUE, None if kind is None else (INSTANCE, kind))
            to.block = outside
        lower_body(to, handler.body, block)
    lower_body(to, node.finalbody, to.block)


def lower_match(to: IRBuilder, node: ast.Match) -> None:
    """`lower_match`: one of its cases, or none."""
    wild = any(getattr(case.pattern, "pattern", False) is None for case in node.cases)
    to.owner.points += max(0, len(node.cases) - wild)
    subject = lower_expression(to, node.subject)
    group = to.new_group()
    for case in node.cases:
        block = _open_block(to, case.body, group, len(node.cases) if wild else 0)
        outside, to.block = to.block, block
        to.step(block)
        _capture(to, case.pattern, node.subject, subject)
        if case.guard is not None:
            lower_expression(to, case.guard)
        to.block = outside
        lower_body(to, case.body, block)


def _open_block(
    to: IRBuilder, statements: Sequence[ast.stmt], group: int, arms: int, flags: int = 0
) -> int:
    if statements and statements[-1].__class__ in _LEAVING:
        flags |= LEAVES_FUNCTION
    to.blocks.append(Block(to.block, group, arms, flags))
    return len(to.blocks) - 1


def _each(to: IRBuilder, node: ast.For | ast.AsyncFor, source: Any) -> None:
    to.owner.points += 1 + bool(node.orelse)
    block = _open_block(to, node.body, to.new_group(), 0, LOOP)
    outside, to.block = to.block, block
    to.step(block)
    assign_target(to, node.target, None if source is None else (ELEMENT, source))
    to.block = outside
    lower_body(to, node.body, block)
    _otherwise(to, node.orelse)


def _otherwise(to: IRBuilder, statements: Sequence[ast.stmt]) -> None:
    if statements:
        lower_body(to, statements, _open_block(to, statements, to.new_group(), 0))


def _enter(to: IRBuilder, node: ast.With | ast.AsyncWith, enter: str, leave: str) -> None:
    for item in node.items:
        manager = item.context_expr
        term = lower_expression(to, manager)
        record_implicit_call(to, term, enter, manager.lineno)
        record_implicit_call(to, term, leave, manager.lineno)
        if item.optional_vars is not None:
            waits = node.__class__ is ast.AsyncWith
            assign_target(to, item.optional_vars, None if term is None else (ENTERED, term, waits))
    lower_body(to, node.body, to.block)


def _capture(to: IRBuilder, pattern: ast.pattern, subject: ast.expr, term: Any) -> None:
    for name, kind in captures(pattern):
        if name is not None:
            whole = term if getattr(pattern, "name", None) == name and kind is None else None
            to.bind(name, VALUE, whole if kind is None else (INSTANCE, lower_expression(to, kind)))
        elif kind is not None:
            instance = (INSTANCE, lower_expression(to, kind))
            if isinstance(subject, ast.Name):
                to.bind(subject.id, NARROWED, instance)
