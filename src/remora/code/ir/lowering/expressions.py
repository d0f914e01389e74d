"""Lowering of expressions to terms, and of assignments to their targets."""

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from remora.code.ir import model as ir
from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.model import AttributeWrite, Call, ContainerWrite
from remora.text import is_utf8

DEEPEST = 120  # maximum nesting of expressions, because the stack is limited
LONGEST_NAME = 60
_NAME, _CONSTANT = ast.Name, ast.Constant
_CONSTANT_TAGS = frozenset((ir.CONSTANT, ir.TEXT, ir.PREFIX))
CONSTANT_TERMS: dict[type[object], Any] = {
    kind: (ir.CONSTANT, kind.__name__) for kind in (str, bytes, int, float, complex, bool)
}
_MAY_BE_OBJECT = frozenset((ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.BoolOp))
FALSE = (ir.CONSTANT, "bool", False)


def lower_expression(builder: IRBuilder, node: Any) -> Any:
    """Record everything in `node` and return its term, or None if `lower_deep` records it later."""
    kind = node.__class__
    # three out of four nodes are names or constants
    if kind is _NAME:
        name = node.id
        if name[0] == "_":
            name = builder.mangled(name)
        if name in builder.defined or builder.stars:
            builder.load(name, node.lineno)
        else:
            builder.names.add(name)
        types = builder.types[-1]
        return types.get(name, name) if types else name
    if kind is _CONSTANT:
        return constant_term(node.value)
    if builder.depth > DEEPEST:
        builder.deep.append((builder.scope, builder.statement, builder.types[-1], node))
        return None
    builder.depth += 1
    term = builder.expression_handlers[kind](builder, node)
    builder.depth -= 1
    return term


def lower_deep(builder: IRBuilder) -> None:
    """Record the expressions that were nested too deeply, without their terms."""
    place = builder.scope, builder.statement, builder.depth
    while builder.deep:
        scope, builder.statement, types, node = builder.deep.pop()
        builder.enter(scope)
        builder.types.append(types)
        builder.depth = 0
        lower_expression(builder, node)
        builder.types.pop()
    scope, builder.statement, builder.depth = place
    builder.enter(scope)


def lower_expressions(builder: IRBuilder, nodes: Sequence[Any]) -> list[Any]:
    """Lower several expressions. Names and constants are handled inline for speed."""
    terms = []
    types = builder.types[-1]
    for node in nodes:
        if node.__class__ is _NAME:
            name = node.id
            if name[0] == "_":
                name = builder.mangled(name)
            if name in builder.defined or builder.stars:
                builder.load(name, node.lineno)
            else:
                builder.names.add(name)
            terms.append(types.get(name, name) if types else name)
        elif node.__class__ is _CONSTANT:
            terms.append(constant_term(node.value))
        else:
            terms.append(lower_expression(builder, node))
    return terms


def lower_parts(builder: IRBuilder, node: ast.AST) -> None:
    """Record the parts of a node that has no term, such as a slice or `raise`."""
    for part in ast.iter_child_nodes(node):
        lower_expression(builder, part)


def constant_term(value: Any) -> Any:
    """Return the term of a constant, or None for the constants None and `...`."""
    kind = value.__class__
    if kind is str and len(value) < LONGEST_NAME and value.replace(".", "a").isidentifier():
        return (ir.TEXT, value)
    return FALSE if value is False else CONSTANT_TERMS.get(kind)


def prefix_term(builder: IRBuilder, node: Any, placeholder: str = "%") -> Any:
    """Return the term of a string that begins with a constant up to a placeholder.

    Examples: `"visit_" + x`, `f"visit_{x}"`, `"visit_%s" % x` and `"visit_{}".format(x)`.
    """
    text = node.value.partition(placeholder)[0] if isinstance(node.value, str) else ""
    if not (text.isidentifier() and (name := ir.dispatch_name(text))):
        return CONSTANT_TERMS.get(node.value.__class__)
    builder.names.add(name)
    return (ir.PREFIX, text)


def record_implicit_call(
    builder: IRBuilder, base: Any, name: str, line: int, args: Sequence[Any] = ()
) -> Any:
    """Record a special method call that syntax implies, and return the term of the result."""
    if base is None or (base.__class__ is tuple and base[0] in _CONSTANT_TAGS):
        return None
    builder.names.add(name)
    calls = builder.calls
    calls.append(
        Call(
            builder.scope_index, builder.statement, line, (ir.ATTRIBUTE, base, name), args, (), True
        )
    )
    return len(calls) - 1


def record_truth(builder: IRBuilder, node: ast.expr, term: Any) -> None:
    """Record the implicit call that decides if the value of a condition is true."""
    if is_created(builder, term) and node.__class__ in _MAY_BE_OBJECT:
        record_implicit_call(builder, term, "__bool__", node.lineno)


def is_created(builder: IRBuilder, term: Any) -> bool:
    """Return False for a call that creates no instance: most others return a builtin type."""
    # to follow all calls in conditions made links 5 % slower
    called = builder.calls[term].callee if term.__class__ is int else None
    return called is None or ir.unqualified_name(called)[:1].isupper()


def is_unknown_or_constant(term: Any) -> bool:
    """Return True if an operator applied to the term cannot run project code."""
    return term is None or (term.__class__ is tuple and term[0] in _CONSTANT_TAGS)


def are_unknown_or_constant(terms: Iterable[Any]) -> bool:
    return all(map(is_unknown_or_constant, terms))


def is_text(term: Any) -> bool:
    """Return True if the term is a string constant that may be a name."""
    return term.__class__ is tuple and term[0] == ir.TEXT


_KEY_LIMIT = 2**31


def assign_target(builder: IRBuilder, target: Any, term: Any) -> None:
    if (kind := target.__class__) is _NAME:
        builder.bind(target.id, ir.VALUE, term)
    elif kind is ast.Attribute:
        write_attribute(builder, target.value, target.attr, term)
    elif kind is ast.Subscript:
        _write_item(builder, target, term)
    elif kind is ast.Starred:
        assign_target(builder, target.value, None)
    else:
        _unpack(builder, target.elts, term)


def write_attribute(
    builder: IRBuilder, base: ast.expr, name: str, term: Any, annotation: Any = None
) -> None:
    owner = lower_expression(builder, base)
    name = builder.mangled(name) if name[:2] == "__" else name
    builder.names.add(name)
    if builder.types[-1] and isinstance(base, ast.Name):
        builder.forget(f"{base.id}.{name}")
    if owner != "self":
        builder.names.add(f"set {name}")
    builder.stores.append(
        AttributeWrite(
            builder.scope_index, builder.statement, base.lineno, owner, name, term, annotation
        )
    )


def constant_key(node: ast.expr) -> Any:
    """Return the value of a constant key (a string or small integer), or None for other keys."""
    if node.__class__ is _CONSTANT:
        value = node.value
        if value.__class__ is str:
            return value if is_utf8(value) else None
        return value if value.__class__ is int and -_KEY_LIMIT < value < _KEY_LIMIT else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return -1 if node.operand.value == 1 else None
    return None


def lower_named_expression(builder: IRBuilder, node: ast.NamedExpr) -> Any:
    """Lower `a := b`. In a comprehension, the name is bound in the enclosing function."""
    term = lower_expression(builder, node.value)
    inside = builder.scope
    builder.enter(inside.enclosing_function)
    builder.bind(node.target.id, ir.VALUE, term)
    builder.enter(inside)
    return term


def _unpack(builder: IRBuilder, targets: Sequence[ast.expr], term: Any) -> None:
    known = term is not None
    for index, target in enumerate(targets):
        if target.__class__ is ast.Starred:
            known = False
        assign_target(builder, target, (ir.ITEM, term, index) if known else None)


def _write_item(builder: IRBuilder, target: ast.Subscript, term: Any) -> None:
    base = lower_expression(builder, target.value)
    if (constant := constant_key(target.slice)) is None:
        lower_expression(builder, target.slice)
    if base is not None:
        builder.fills.append(
            ContainerWrite(builder.scope_index, builder.statement, base, constant, term)
        )
        record_implicit_call(builder, base, "__setitem__", target.lineno, (None, term))
