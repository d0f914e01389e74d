"""Lowering of expressions to terms."""

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.model import ATTRIBUTE, CONSTANT, TEXT, Call

DEEPEST = 120  # maximum nesting of expressions, because the stack is limited
LONGEST_NAME = 60
_NAME, _CONSTANT = ast.Name, ast.Constant
_CONSTANT_TAGS = frozenset((CONSTANT, TEXT))
CONSTANT_TERMS: dict[type[object], Any] = {
    kind: (CONSTANT, kind.__name__) for kind in (str, bytes, int, float, complex, bool)
}


def lower_expression(builder: IRBuilder, node: Any) -> Any:
    """Record everything in `node` and return its term, or None if it is nested too deeply."""
    kind = node.__class__
    # three out of four nodes are names or constants
    if kind is _NAME:
        name = node.id
        builder.names.add(name)
        return name
    if kind is _CONSTANT:
        return constant_term(node.value)
    if builder.depth > DEEPEST:
        return None
    builder.depth += 1
    term = builder.expression_handlers[kind](builder, node)
    builder.depth -= 1
    return term


def lower_expressions(builder: IRBuilder, nodes: Sequence[Any]) -> list[Any]:
    """Lower several expressions. Names and constants are handled inline for speed."""
    terms = []
    for node in nodes:
        if node.__class__ is _NAME:
            name = node.id
            builder.names.add(name)
            terms.append(name)
        elif node.__class__ is _CONSTANT:
            terms.append(constant_term(node.value))
        else:
            terms.append(lower_expression(builder, node))
    return terms


def constant_term(value: Any) -> Any:
    """Return the term of a constant, or None for the constants None and `...`."""
    kind = value.__class__
    if kind is str and len(value) < LONGEST_NAME and value.isidentifier():
        return (TEXT, value)
    return CONSTANT_TERMS.get(kind)


def record_implicit_call(
    builder: IRBuilder, base: Any, name: str, line: int, args: Sequence[Any] = ()
) -> Any:
    """Record a special method call that syntax implies, and return the term of the result."""
    if base is None or (base.__class__ is tuple and base[0] in _CONSTANT_TAGS):
        return None
    builder.names.add(name)
    calls = builder.calls
    calls.append(
        Call(builder.scope_index, builder.statement, line, (ATTRIBUTE, base, name), args, (), True)
    )
    return len(calls) - 1


def is_unknown_or_constant(term: Any) -> bool:
    """Return True if an operator applied to the term cannot run project code."""
    return term is None or (term.__class__ is tuple and term[0] in _CONSTANT_TAGS)


def are_unknown_or_constant(terms: Iterable[Any]) -> bool:
    for term in terms:
        if term is not None and (term.__class__ is not tuple or term[0] not in _CONSTANT_TAGS):
            return False
    return True


def is_text(term: Any) -> bool:
    """Return True if the term is a string constant that may be a name."""
    return term.__class__ is tuple and term[0] == TEXT
