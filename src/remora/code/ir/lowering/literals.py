"""Lists, tuples, sets, dicts, and the comprehensions that make them."""

import ast
from typing import Any

from remora.code.ir.lowering.assignment_targets import assign_target, constant_key
from remora.code.ir.lowering.builder import IRBuilder, OpenScope
from remora.code.ir.lowering.expressions import (
    are_unknown_or_constant,
    lower_expression,
    lower_expressions,
    record_implicit_call,
)
from remora.code.ir.model import ATTRIBUTE, COMPREHENSION_SCOPE, CONTAINER, ELEMENT, Container

MOST_ITEMS = 256  # of a display: longer ones are data


def lower_sequence(to: IRBuilder, node: ast.List | ast.Tuple | ast.Set) -> Any:
    """`[a, b]`, `(a, b)`, `{a, b}`."""
    return _container(to, lower_expressions(to, node.elts), None)


def lower_dict(to: IRBuilder, node: ast.Dict) -> Any:
    """`{a: b, **c}`."""
    keys: list[Any] = []
    for each in node.keys:
        constant = None if each is None else constant_key(each)
        if each is not None and constant is None:
            lower_expression(to, each)
        keys.append(constant)
    items = lower_expressions(to, node.values)
    for index, each in enumerate(node.keys):
        if each is None and items[index] is not None:  # `**other`
            items[index] = (ELEMENT, (ATTRIBUTE, items[index], "values"))
    return _container(to, items, keys)


def lower_comprehension(to: IRBuilder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
    """A list, a set, or a generator."""
    outside = _generate(to, node)
    term = _container(to, [lower_expression(to, node.elt)], None, each=True)
    to.enter(outside)
    return term


def lower_dict_comprehension(to: IRBuilder, node: ast.DictComp) -> Any:
    """`{a: b for …}`."""
    outside = _generate(to, node)
    lower_expression(to, node.key)
    term = _container(to, [lower_expression(to, node.value)], [None], each=True)
    to.enter(outside)
    return term


def record_iteration(to: IRBuilder, source: Any, line: int) -> None:
    """A loop asks `source` for an iterator, and that for each item."""
    iterator = record_implicit_call(to, source, "__iter__", line)
    if iterator is not None:
        record_implicit_call(to, iterator, "__next__", line)


def _generate(
    to: IRBuilder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> OpenScope:
    """Enter the comprehension's scope, where the names of its loops are bound; the scope before."""
    outside = to.scope
    inside = to.open_scope(COMPREHENSION_SCOPE, "", node.lineno)
    for generator in node.generators:
        source = lower_expression(to, generator.iter)  # the first belongs to the scope around
        record_iteration(to, source, generator.iter.lineno)
        to.enter(inside)
        assign_target(to, generator.target, None if source is None else (ELEMENT, source))
        to.owner.points += 1 + len(generator.ifs)
        for test in generator.ifs:
            lower_expression(to, test)
    return outside


def _container(
    to: IRBuilder, items: list[Any], keys: list[Any] | None, *, each: bool = False
) -> tuple[int, int]:
    if len(items) > MOST_ITEMS or are_unknown_or_constant(items):
        items, keys = [], None if keys is None else []
    containers = to.containers
    containers.append(Container(to.index, to.at, items, keys, each))
    return (CONTAINER, len(containers) - 1)
