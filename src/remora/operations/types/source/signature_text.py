"""Signatures as text, in which a model proposes types: `(path: str, limit: int = 10) -> list[str]`."""

import ast
import re
from collections.abc import Collection, Mapping
from contextlib import suppress

from remora.errors import HostError
from remora.operations.types.source.slots import RETURN
from remora.operations.types.source.terms import members_of, term_of

_HEAD = re.compile(r"^(?:async\s+)?(?:def\s+)?[\w.]*\s*(?=\(|->)")
_TAIL = re.compile(r"(?::\s*)?(?:\.\.\.)?$")
_SAYS_NOTHING = frozenset(("Any", "object", "Incomplete"))


def types_in(signature: str, owners: Collection[str] = ()) -> dict[str, str]:
    """Return the canonical type of each annotated parameter, and of the result as `return`.

    `def`, the function's name and the colon at the end may be there. Types that say nothing, such
    as `Any`, are left out. Names of modules and classes in `owners` stay as they are, such as
    `h11.Request`. Raises HostError if the text is not a signature.
    """
    text = _TAIL.sub("", _HEAD.sub("", signature.strip().strip("`").strip(), count=1).strip())
    text = f"(){text}" if text.startswith("->") else text
    try:
        (node,) = ast.parse(f"def f{text}: ...").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        node = None
    if not isinstance(node, ast.FunctionDef):
        raise HostError(f"not a signature: {signature[:200]}")
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    annotations = {each.arg: each.annotation for each in every if each is not None}
    qualified = _Qualified(owners)
    found = {
        name: _canonical(qualified.visit(annotation))
        for name, annotation in {**annotations, RETURN: node.returns}.items()
        if annotation is not None
    }
    return {name: term for name, term in found.items() if _says_something(term)}


class _Qualified(ast.NodeTransformer):
    """Turns attributes of `owners` into names with dots, and quoted types into types."""

    def __init__(self, owners: Collection[str]) -> None:
        self._owners = owners

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        text = ast.unparse(node)
        return ast.Name(text) if text.partition(".")[0] in self._owners else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if not isinstance(node.value, str):
            return node
        with suppress(SyntaxError, ValueError):
            inner: ast.AST = self.visit(ast.parse(node.value.strip(), mode="eval").body)
            return inner
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        is_literal = ast.unparse(node.value).rpartition(".")[2] == "Literal"
        return node if is_literal else self.generic_visit(node)


def _canonical(annotation: ast.expr) -> str:
    try:
        return term_of(annotation)
    except (SyntaxError, ValueError, RecursionError):
        return ""


def _says_something(term: str) -> bool:
    return bool(term) and _SAYS_NOTHING.isdisjoint(members_of(term))


def as_signature(terms: Mapping[str, str]) -> str:
    """Return a signature with some types, from which `types_in` reads the same types."""
    parameters = ", ".join(f"{name}: {term}" for name, term in terms.items() if name != RETURN)
    result = f" -> {terms[RETURN]}" if RETURN in terms else ""
    return f"({parameters}){result}"
