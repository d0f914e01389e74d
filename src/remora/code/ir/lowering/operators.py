"""Lowering of literals, comprehensions, attributes, subscripts, operators and f-strings."""

import ast
from collections.abc import Iterable
from typing import Any

from remora.code.ir import model as ir
from remora.code.ir.lowering.builder import IRBuilder, OpenScope, Types
from remora.code.ir.lowering.expressions import (
    CONSTANT_TERMS,
    are_unknown_or_constant,
    assign_target,
    constant_key,
    is_created,
    is_unknown_or_constant,
    lower_expression,
    lower_expressions,
    lower_parts,
    prefix_term,
    record_implicit_call,
    record_truth,
)
from remora.code.ir.lowering.narrowing import lower_narrowed, types_if
from remora.code.ir.model import ATTRIBUTE, CONTAINER, ELEMENT, AttributeRead, Container

MAX_ITEMS = 256  # longer literals are data, not code


def lower_sequence(builder: IRBuilder, node: ast.List | ast.Tuple | ast.Set) -> Any:
    return _container(builder, lower_expressions(builder, node.elts), None)


def lower_dict(builder: IRBuilder, node: ast.Dict) -> Any:
    keys: list[Any] = []
    for key in node.keys:
        constant = None if key is None else constant_key(key)
        if key is not None and constant is None:
            lower_expression(builder, key)
        keys.append(constant)
    items = lower_expressions(builder, node.values)
    for index, key in enumerate(node.keys):
        if key is None and items[index] is not None:  # `**other`
            items[index] = (ELEMENT, (ATTRIBUTE, items[index], "values"))
    return _container(builder, items, keys)


def lower_comprehension(builder: IRBuilder, node: Any) -> Any:
    outside = _enter_comprehension(builder, node)
    if is_dict := node.__class__ is ast.DictComp:
        lower_expression(builder, node.key)
    value = lower_expression(builder, node.value if is_dict else node.elt)
    term = _container(builder, [value], [None] if is_dict else None, each=True)
    builder.types.pop()
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
    builder.push_types({})
    inside = builder.open_scope(ir.COMPREHENSION_SCOPE, "", node.lineno)
    for generator in node.generators:
        # the first iterable is evaluated in the outer scope
        source = lower_expression(builder, generator.iter)
        record_iteration(builder, source, generator.iter.lineno)
        builder.enter(inside)
        assign_target(builder, generator.target, None if source is None else (ELEMENT, source))
        builder.counted_scope.branches += 1 + len(generator.ifs)
        for test in generator.ifs:
            record_truth(builder, test, lower_expression(builder, test))
            builder.types[-1] |= types_if(builder, test, holds=True)
    return outside


def _container(
    builder: IRBuilder, items: list[Any], keys: list[Any] | None, *, each: bool = False
) -> tuple[int, int]:
    is_data = are_unknown_or_constant(items) and not (builder.is_lazy and builder.scope.index == 0)
    if is_data or len(items) > MAX_ITEMS:
        items, keys = [], None if keys is None else []
    containers = builder.containers
    containers.append(Container(builder.scope_index, builder.statement, items, keys, each))
    return (CONTAINER, len(containers) - 1)


_NAME, _CONSTANT, _BINOP = ast.Name, ast.Constant, ast.BinOp
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "__add__",
    ast.Sub: "__sub__",
    ast.Mult: "__mul__",
    ast.MatMult: "__matmul__",
    ast.Div: "__truediv__",
    ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__",
    ast.Pow: "__pow__",
    ast.LShift: "__lshift__",
    ast.RShift: "__rshift__",
    ast.BitOr: "__or__",
    ast.BitXor: "__xor__",
    ast.BitAnd: "__and__",
}
_UNARY_OPERATORS: dict[type[ast.unaryop], str] = {
    ast.USub: "__neg__",
    ast.UAdd: "__pos__",
    ast.Invert: "__invert__",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
}
_REFLECTED = {"__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__"}
_CONTAINMENT = frozenset((ast.In, ast.NotIn))


def lower_attribute(builder: IRBuilder, node: ast.Attribute) -> Any:
    value, name = node.value, node.attr
    if name[0] == "_":
        name = builder.mangled(name)
    add = builder.names.add
    add(name)
    base = lower_expression(builder, value)
    term = (ATTRIBUTE, base, name)
    builder.reads.append(
        AttributeRead(builder.scope_index, builder.statement, node.end_lineno or node.lineno, term)
    )
    if (types := builder.types[-1]) and value.__class__ is _NAME:
        return types.get(f"{value.id}.{name}", term)
    return term


def lower_subscript(builder: IRBuilder, node: ast.Subscript) -> Any:
    base = lower_expression(builder, node.value)
    inside = node.slice
    if inside.__class__ is ast.Slice:
        lower_parts(builder, inside)
        return None if base is None else (ir.SLICE, base)
    if (constant := constant_key(inside)) is None:
        lower_expression(builder, inside)
    if base is None:
        return None
    record_implicit_call(builder, base, "__getitem__", node.lineno)
    return (ir.ITEM, base, constant)


def lower_boolean(builder: IRBuilder, node: ast.BoolOp) -> Any:
    """Lower `and` or `or`. The result may be any operand."""
    builder.counted_scope.branches += len(node.values) - 1
    is_and = node.op.__class__ is ast.And
    terms: list[Any] = []
    types: Types = {}
    for value in node.values:
        if terms:
            record_truth(builder, node.values[len(terms) - 1], terms[-1])
        terms.append(lower_narrowed(builder, types, value))
        types = types | types_if(builder, value, holds=is_and)
    return _either(terms)


def lower_conditional(builder: IRBuilder, node: ast.IfExp) -> Any:
    builder.counted_scope.branches += 1
    test = node.test
    record_truth(builder, test, lower_expression(builder, test))
    body = lower_narrowed(builder, types_if(builder, test, holds=True), node.body)
    otherwise = lower_narrowed(builder, types_if(builder, test, holds=False), node.orelse)
    return _either((body, otherwise))


def lower_binary(builder: IRBuilder, node: ast.BinOp) -> Any:
    """Lower a binary operator.

    This is iterative, because long sums are deeply nested on the left.
    """
    parts = [node]
    left: Any = node.left
    while left.__class__ is _BINOP:
        parts.append(left)
        left = left.left
    if left.__class__ is _CONSTANT and left.value.__class__ is str:
        for part in reversed(parts):
            lower_expression(builder, part.right)
        return prefix_term(builder, left)
    term = lower_expression(builder, left)
    for part in parts if len(parts) == 1 else reversed(parts):
        right = lower_expression(builder, part.right)
        name = _OPERATORS[part.op.__class__]
        if is_unknown_or_constant(term):
            term, right, name = right, term, f"__r{name[2:]}"
        term = record_implicit_call(builder, term, name, part.lineno, (right,))
    return term


def lower_unary(builder: IRBuilder, node: ast.UnaryOp) -> Any:
    operand, operator = node.operand, node.op.__class__
    term = lower_expression(builder, operand)
    if operator is ast.Not:
        return record_truth(builder, operand, term)
    return record_implicit_call(builder, term, _UNARY_OPERATORS[operator], operand.lineno)


def lower_comparison(builder: IRBuilder, node: ast.Compare) -> None:
    left = lower_expression(builder, node.left)
    operators = node.ops
    for position, comparator in enumerate(node.comparators):
        right = lower_expression(builder, comparator)
        if (kind := operators[position].__class__) in _COMPARISONS:
            name, base = _COMPARISONS[kind], left
            if is_unknown_or_constant(left):
                name, base = _REFLECTED.get(name, name), right
            if is_created(builder, base) or not is_unknown_or_constant(right):
                record_implicit_call(builder, base, name, node.lineno, (right,))
        elif right is not None and kind in _CONTAINMENT:
            record_implicit_call(builder, right, "__contains__", node.lineno, (left,))
        left = right


def lower_await(builder: IRBuilder, node: ast.Await) -> Any:
    term = lower_expression(builder, node.value)
    return None if term is None else (ir.AWAIT, term)


def lower_starred(builder: IRBuilder, node: ast.Starred) -> Any:
    term = lower_expression(builder, node.value)
    return None if term is None else (ir.STAR, term)


def lower_f_string(builder: IRBuilder, node: ast.JoinedStr) -> Any:
    values = node.values
    lower_expressions(builder, values)
    is_prefixed = values and values[0].__class__ is _CONSTANT
    return prefix_term(builder, values[0], "{") if is_prefixed else CONSTANT_TERMS[str]


def _either(terms: Iterable[Any]) -> Any:
    known = [term for term in terms if term is not None]
    if len(known) < 2:
        return known[0] if known else None
    return (ir.EITHER, *known)
