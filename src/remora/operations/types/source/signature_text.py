"""Signatures as text, in which a model proposes types: `(path: str, limit: int = 10) -> list[str]`."""

import ast
import builtins
import re
from collections.abc import Collection, Mapping

from remora.errors import HostError
from remora.operations.types.source.slots import RETURN
from remora.operations.types.source.terms import members_of, term_of
from remora.python_text import parse

_HEAD = re.compile(r"^(?:async\s+)?(?:def\s+)?[\w.]*\s*(?=\(|->)")
_TAIL = re.compile(r"(?::\s*)?(?:\.\.\.)?$")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_SAYS_NOTHING = frozenset(("Any", "object", "Incomplete"))


def types_in(signature: str, owners: Collection[str] = ()) -> dict[str, str]:
    """Return the canonical type of each annotated parameter, and of the result as `return`.

    `def`, the function's name and the colon at the end may be there. Names of modules and classes in
    `owners` stay as they are, such as `h11.Request`. What is not a type is an empty string. Raises
    HostError if the text is not a signature.
    """
    text = _TAIL.sub("", _HEAD.sub("", signature.strip().strip("`").strip(), count=1).strip())
    text = f"(){text}" if text.startswith("->") else text
    try:
        (node,) = parse(f"def f{text}: ...").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        node = None
    if not isinstance(node, ast.FunctionDef):
        raise HostError(f"not a signature: {signature[:200]}")
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    annotations = {each.arg: each.annotation for each in every if each is not None}
    return {
        name: type_in(annotation, owners)
        for name, annotation in {**annotations, RETURN: node.returns}.items()
        if annotation is not None
    }


def type_in(annotation: ast.expr, owners: Collection[str]) -> str:
    """Return the canonical form of an annotation, or an empty string if it is not a type."""
    try:
        return term_of(_type_of(annotation, owners))
    except (SyntaxError, ValueError, RecursionError):
        return ""


def _type_of(node: ast.expr, owners: Collection[str]) -> ast.expr:
    """Return a type without quotes, with attributes of `owners` as names with dots.

    Raises ValueError for everything else, such as calls, because Python would evaluate it.
    """
    match node:
        case ast.Constant(value=str(text)):
            return _type_of(parse(text.strip(), "eval").body, owners)
        case ast.Constant(value=None) | ast.Constant(value=builtins.Ellipsis):
            return node
        case ast.BinOp(left, ast.BitOr(), right):
            return ast.BinOp(_type_of(left, owners), ast.BitOr(), _type_of(right, owners))
        case ast.List(elts) | ast.Tuple(elts):
            return type(node)([_type_of(each, owners) for each in elts])
        case ast.Subscript(head, inner):
            name = _name_of(head, owners)
            is_literal = ast.unparse(name).rpartition(".")[2] == "Literal"
            return ast.Subscript(name, _values(inner) if is_literal else _type_of(inner, owners))
    return _name_of(node, owners)


def _name_of(node: ast.expr, owners: Collection[str]) -> ast.expr:
    """Return a name, or a name with dots if it begins with an owner."""
    text = ast.unparse(node)
    if not _DOTTED.fullmatch(text):
        raise ValueError(text)
    return ast.Name(text) if text.partition(".")[0] in owners else node


def _values(inner: ast.expr) -> ast.expr:
    if not all(map(_is_literal, inner.elts if isinstance(inner, ast.Tuple) else [inner])):
        raise ValueError(ast.unparse(inner))
    return inner


def _is_literal(node: ast.expr) -> bool:
    match node:
        case ast.UnaryOp(ast.USub(), ast.Constant(value=int())):
            return True
        case ast.Constant(value=None | bool() | int() | str() | bytes()):
            return True
    return isinstance(node, ast.Attribute) and bool(_DOTTED.fullmatch(ast.unparse(node)))


def says_something(term: str) -> bool:
    """Return False for types that fit every value, such as `Any`."""
    return _SAYS_NOTHING.isdisjoint(each.rpartition(".")[2] for each in members_of(term))


def as_signature(terms: Mapping[str, str]) -> str:
    """Return a signature with some types, from which `types_in` reads the same types."""
    parameters = ", ".join(f"{name}: {term}" for name, term in terms.items() if name != RETURN)
    result = f" -> {terms[RETURN]}" if RETURN in terms else ""
    return f"({parameters}){result}"
