"""Equality of types as a type checker sees it."""

import ast
import re
from collections.abc import Iterable, Mapping

from remora.operations.parsed_text import ParsedText
from remora.operations.types.source.terms import (
    arguments_of,
    canonical,
    head_of,
    members_of,
    union,
)

_ARGUMENTS = {
    **dict.fromkeys(("list", "set", "frozenset", "deque", "type", "Iterable", "Iterator"), "Any"),
    **dict.fromkeys(("Sequence", "Collection", "Set", "Awaitable", "AsyncIterator"), "Any"),
    **dict.fromkeys(("dict", "defaultdict", "Mapping", "MutableMapping"), "Any, Any"),
    **dict.fromkeys(("Generator", "Coroutine"), "Any, Any, Any"),
    **dict.fromkeys(("Pattern", "Match"), "Any"),
    "tuple": "Any, ...",
    "Callable": "..., Any",
}
"""The arguments of a type that is written without them."""
_NARROWER = {"float": {"int"}, "complex": {"int", "float"}}
"""Types that a number type includes."""
_WORD = re.compile(r"[^\W\d]\w*")
_MOST_ALIASES = 5
"""How often an alias in the meaning of an alias is replaced."""


def aliases_in(texts: Iterable[str]) -> dict[str, str]:
    """Return the type aliases that files define, by name. Those with several meanings are left out.

    All texts must parse.
    """
    found: dict[str, str] = {}
    for text in texts:
        for node in ParsedText(text).tree.body:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ) if isinstance(value, ast.Subscript | ast.BinOp) and name[:1].isalpha():
                    term = canonical(ast.unparse(value))
                    found[name] = term if found.get(name, term) == term else ""
    return {name: term for name, term in found.items() if term}


def is_equal(first: str, second: str, aliases: Mapping[str, str]) -> bool:
    """Return True if a type checker makes no difference between two canonical types."""
    return bool(first and second) and _plain(first, aliases) == _plain(second, aliases)


def _plain(term: str, aliases: Mapping[str, str]) -> str:
    """Return a type without aliases, with all arguments, and with the members of unions in order.

    Members that others include are left out.
    """
    for _ in range(_MOST_ALIASES):
        expanded = _WORD.sub(lambda found: aliases.get(found[0], found[0]), term)
        if expanded == term:
            break
        term = canonical(expanded) or term
    members = [_with_arguments(each, aliases) for each in members_of(term)]
    included = set[str]().union(*(_NARROWER.get(each, ()) for each in members))
    return union(sorted(each for each in members if each not in included))


def _with_arguments(term: str, aliases: Mapping[str, str]) -> str:
    arguments = arguments_of(term)
    if not arguments:
        return f"{term}[{_ARGUMENTS[term]}]" if term in _ARGUMENTS else term
    if head_of(term) in ("Literal", ""):
        return term
    inner = (each if each.startswith("[") else _plain(each, aliases) for each in arguments)
    return f"{head_of(term)}[{', '.join(inner)}]"
