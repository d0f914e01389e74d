"""Signatures as text, in which a model proposes types: `(path: str, limit: int = 10) -> list[str]`."""

import ast
import re
from collections.abc import Collection, Mapping

from remora.errors import HostError
from remora.judges.types.slots import RETURN, annotations_of
from remora.judges.types.terms import members_of, type_in
from remora.python_text import parse

_HEAD = re.compile(r"^(?:async\s+)?(?:def\s+)?[\w.]*\s*(?=\(|->)")
_TAIL = re.compile(r"(?::\s*)?(?:\.\.\.)?$")
_SAYS_NOTHING = frozenset(("Any", "object", "Incomplete"))


def types_in(signature: str, owners: Collection[str] = ()) -> dict[str, str]:
    """Return the canonical type of each annotated parameter, and of the result as `return`.

    `def`, the function's name and the colon at the end are optional. Names of modules and classes in
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
    annotations = annotations_of(node, None)
    return {name: type_in(annotation, owners) for name, annotation in annotations.items()}


def says_something(term: str) -> bool:
    """Return False for types that fit every value, such as `Any`."""
    return _SAYS_NOTHING.isdisjoint(member.rpartition(".")[2] for member in members_of(term))


def as_signature(terms: Mapping[str, str]) -> str:
    """Return a signature with some types, from which `types_in` reads the same types."""
    parameters = ", ".join(f"{name}: {term}" for name, term in terms.items() if name != RETURN)
    result = f" -> {terms[RETURN]}" if RETURN in terms else ""
    return f"({parameters}){result}"
