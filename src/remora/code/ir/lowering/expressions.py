"""Any expression becomes its term, and what it holds is recorded."""

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from remora.code.ir.lowering.builder import IRBuilder
from remora.code.ir.model import ATTRIBUTE, CONSTANT, TEXT, Call

DEEPEST = 120  # levels of expressions: no person writes more, and the stack has an end
LONGEST_NAME = 60
_NAME, _CONSTANT = ast.Name, ast.Constant
_SAYING_LITTLE = frozenset((CONSTANT, TEXT))
CONSTANT_TERMS: dict[type[object], Any] = {
    kind: (CONSTANT, kind.__name__) for kind in (str, bytes, int, float, complex, bool)
}


def lower_expression(to: IRBuilder, node: Any) -> Any:
    """The term of `node`, and everything in it recorded; null beyond a sane depth."""
    kind = node.__class__
    # three of four nodes are names and constants
    if kind is _NAME:
        name = node.id
        to.names.add(name)
        return name
    if kind is _CONSTANT:
        return constant_term(node.value)
    if to.depth > DEEPEST:
        return None
    to.depth += 1
    term = to.expressions[kind](to, node)
    to.depth -= 1
    return term


def lower_expressions(to: IRBuilder, nodes: Sequence[Any]) -> list[Any]:
    """The terms of several; names, the most frequent, are taken without a call."""
    terms = []
    for node in nodes:
        if node.__class__ is _NAME:
            name = node.id
            to.names.add(name)
            terms.append(name)
        elif node.__class__ is _CONSTANT:
            terms.append(constant_term(node.value))
        else:
            terms.append(lower_expression(to, node))
    return terms


def constant_term(value: Any) -> Any:
    """The term of a constant: null for None and for `...`."""
    kind = value.__class__
    if kind is str and len(value) < LONGEST_NAME and value.isidentifier():
        return (TEXT, value)
    return CONSTANT_TERMS.get(kind)


def record_implicit_call(
    to: IRBuilder, base: Any, name: str, line: int, args: Sequence[Any] = ()
) -> Any:
    """Syntax calls the special method `name` of `base`; the term of the result."""
    if base is None or (base.__class__ is tuple and base[0] in _SAYING_LITTLE):
        return None
    to.names.add(name)
    calls = to.calls
    calls.append(Call(to.index, to.at, line, (ATTRIBUTE, base, name), args, (), True))
    return len(calls) - 1


def is_unknown_or_constant(term: Any) -> bool:
    """Whether nothing of the project is run by an operator on it."""
    return term is None or (term.__class__ is tuple and term[0] in _SAYING_LITTLE)


def are_unknown_or_constant(terms: Iterable[Any]) -> bool:
    """Whether that is so of all these."""
    for term in terms:
        if term is not None and (term.__class__ is not tuple or term[0] not in _SAYING_LITTLE):
            return False
    return True


def is_text(term: Any) -> bool:
    """Whether it is a string constant that may be a name."""
    return term.__class__ is tuple and term[0] == TEXT
