"""Lists, tuples, sets, dicts, and the comprehensions that make them."""

import ast
from typing import Any

from remora.code.ir.lowering.assignment_targets import assign, key
from remora.code.ir.lowering.builder import Builder, OpenScope
from remora.code.ir.lowering.expressions import are_plain, expression, expressions, implicit
from remora.code.ir.model import ATTRIBUTE, COMPREHENSION_SCOPE, CONTAINER, EACH, Container

MOST_ITEMS = 256  # of a display: longer ones are data


def display(to: Builder, node: ast.List | ast.Tuple | ast.Set) -> Any:
    """`[a, b]`, `(a, b)`, `{a, b}`."""
    return _container(to, expressions(to, node.elts), None)


def mapping(to: Builder, node: ast.Dict) -> Any:
    """`{a: b, **c}`."""
    keys: list[Any] = []
    for each in node.keys:
        constant = None if each is None else key(each)
        if each is not None and constant is None:
            expression(to, each)
        keys.append(constant)
    items = expressions(to, node.values)
    for index, each in enumerate(node.keys):
        if each is None and items[index] is not None:  # `**other`
            items[index] = (EACH, (ATTRIBUTE, items[index], "values"))
    return _container(to, items, keys)


def comprehension(to: Builder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
    """A list, a set, or a generator."""
    outside = _generate(to, node)
    term = _container(to, [expression(to, node.elt)], None, each=True)
    to.enter(outside)
    return term


def mapping_comprehension(to: Builder, node: ast.DictComp) -> Any:
    """`{a: b for …}`."""
    outside = _generate(to, node)
    expression(to, node.key)
    term = _container(to, [expression(to, node.value)], [None], each=True)
    to.enter(outside)
    return term


def iteration(to: Builder, source: Any, line: int) -> None:
    """A loop asks `source` for an iterator, and that for each item."""
    iterator = implicit(to, source, "__iter__", line)
    if iterator is not None:
        implicit(to, iterator, "__next__", line)


def _generate(
    to: Builder, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> OpenScope:
    """Enter the comprehension's scope, where the names of its loops are bound; the scope before."""
    outside = to.scope
    inside = to.open_scope(COMPREHENSION_SCOPE, "", node.lineno)
    for generator in node.generators:
        source = expression(to, generator.iter)  # the first belongs to the scope around
        iteration(to, source, generator.iter.lineno)
        to.enter(inside)
        assign(to, generator.target, None if source is None else (EACH, source))
        to.owner.points += 1 + len(generator.ifs)
        for test in generator.ifs:
            expression(to, test)
    return outside


def _container(
    to: Builder, items: list[Any], keys: list[Any] | None, *, each: bool = False
) -> tuple[int, int]:
    if len(items) > MOST_ITEMS or are_plain(items):
        items, keys = [], None if keys is None else []
    containers = to.containers
    containers.append(Container(to.index, to.at, items, keys, each))
    return (CONTAINER, len(containers) - 1)
