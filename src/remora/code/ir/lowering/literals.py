"""Lowering of list, tuple, set and dict literals and comprehensions."""

import ast
from typing import Any

from remora.code.ir.lowering.builder import IRBuilder, OpenScope
from remora.code.ir.lowering.expressions import (
    are_unknown_or_constant,
    assign_target,
    constant_key,
    lower_expression,
    lower_expressions,
    record_implicit_call,
)
from remora.code.ir.model import ATTRIBUTE, COMPREHENSION_SCOPE, CONTAINER, ELEMENT, Container

MAX_ITEMS = 256  # longer literals are data, not code


def lower_sequence(builder: IRBuilder, node: ast.List | ast.Tuple | ast.Set) -> Any:
    return _container(builder, lower_expressions(builder, node.elts), None)


def lower_dict(builder: IRBuilder, node: ast.Dict) -> Any:
    keys: list[Any] = []
    for each in node.keys:
        constant = None if each is None else constant_key(each)
        if each is not None and constant is None:
            lower_expression(builder, each)
        keys.append(constant)
    items = lower_expressions(builder, node.values)
    for index, each in enumerate(node.keys):
        if each is None and items[index] is not None:  # `**other`
            items[index] = (ELEMENT, (ATTRIBUTE, items[index], "values"))
    return _container(builder, items, keys)


def lower_comprehension(
    builder: IRBuilder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp
) -> Any:
    outside = _enter_comprehension(builder, node)
    term = _container(builder, [lower_expression(builder, node.elt)], None, each=True)
    builder.enter(outside)
    return term


def lower_dict_comprehension(builder: IRBuilder, node: ast.DictComp) -> Any:
    outside = _enter_comprehension(builder, node)
    lower_expression(builder, node.key)
    term = _container(builder, [lower_expression(builder, node.value)], [None], each=True)
    builder.enter(outside)
    return term


def record_iteration(builder: IRBuilder, source: Any, line: int) -> None:
    """Record the implicit calls to `__iter__` and `__next__`."""
    if (iterator := record_implicit_call(builder, source, "__iter__", line)) is not None:
        record_implicit_call(builder, iterator, "__next__", line)


def _enter_comprehension(
    builder: IRBuilder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> OpenScope:
    """Enter the scope of a comprehension and bind its loop variables. Return the outer scope."""
    outside = builder.scope
    inside = builder.open_scope(COMPREHENSION_SCOPE, "", node.lineno)
    for generator in node.generators:
        # the first iterable is evaluated in the outer scope
        source = lower_expression(builder, generator.iter)
        record_iteration(builder, source, generator.iter.lineno)
        builder.enter(inside)
        assign_target(builder, generator.target, None if source is None else (ELEMENT, source))
        builder.counted_scope.branches += 1 + len(generator.ifs)
        for test in generator.ifs:
            lower_expression(builder, test)
    return outside


def _container(
    builder: IRBuilder, items: list[Any], keys: list[Any] | None, *, each: bool = False
) -> tuple[int, int]:
    if len(items) > MAX_ITEMS or are_unknown_or_constant(items):
        items, keys = [], None if keys is None else []
    containers = builder.containers
    containers.append(Container(builder.scope_index, builder.statement, items, keys, each))
    return (CONTAINER, len(containers) - 1)
