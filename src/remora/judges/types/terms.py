"""Types as text in one canonical form, so that equal types compare as equal text.

`Optional[X]` is written as `X | None`, `List` as `list`, and names without their module. `None` is
the last member of a union.
"""

import ast
import functools
import re
from collections.abc import Collection, Iterable

from remora.code.syntax.hidden_uses import names_in
from remora.python_text import parse

_ALIASES = {
    "List": "list",
    "Dict": "dict",
    "Tuple": "tuple",
    "Set": "set",
    "FrozenSet": "frozenset",
    "Type": "type",
    "Text": "str",
    "Deque": "deque",
    "DefaultDict": "defaultdict",
    "AbstractSet": "Set",
    "GeneratorType": "Generator",
    "AsyncGeneratorType": "AsyncGenerator",
    "CoroutineType": "Coroutine",
    "LiteralString": "str",
    "EllipsisType": "...",
    "Never": "NoReturn",
}
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@functools.lru_cache(maxsize=65536)
def canonical(annotation: str) -> str:
    """Return the canonical form of an annotation's source text, or an empty string."""
    try:
        return _term(parse(annotation.strip(), "eval").body, ())
    except (SyntaxError, ValueError, RecursionError):
        return ""


def type_in(annotation: ast.expr, owners: Collection[str]) -> str:
    """Return the canonical form of an annotation, or an empty string if it is not a type.

    Names with dots that begin with one of `owners` stay as they are, such as `h11.Request`.
    """
    try:
        return _term(annotation, owners)
    except (SyntaxError, ValueError, RecursionError):
        return ""


def _term(node: ast.expr, owners: Collection[str]) -> str:
    """Return the canonical form of an annotation.

    Raises ValueError for everything else, such as calls, because Python would evaluate it.
    """
    match node:
        case ast.Constant(value=str(text)):
            return _term(parse(text.strip(), "eval").body, owners)
        case ast.BinOp(op=ast.BitOr()):
            return union([_term(node.left, owners), _term(node.right, owners)])
        case ast.List():
            return f"[{', '.join(_term(element, owners) for element in node.elts)}]"
        case ast.Subscript():
            return _subscript(node, owners)
    text = ast.unparse(node)
    if text in ("None", "()", "..."):
        return text
    if isinstance(node, ast.Constant) or not _DOTTED.fullmatch(text):
        raise ValueError(text)
    name = text if text.partition(".")[0] in owners else text.rpartition(".")[2]
    return _ALIASES.get(name, name)


def _subscript(node: ast.Subscript, owners: Collection[str]) -> str:
    head = _term(node.value, owners)
    inner = node.slice
    parts = inner.elts if isinstance(inner, ast.Tuple) and inner.elts else [inner]
    if head.rpartition(".")[2] == "Literal":
        if not all(map(_is_literal, parts)):
            raise ValueError(ast.unparse(inner))
        return f"{head}[{ast.unparse(inner).strip('()')}]"
    terms = [_term(part, owners) for part in parts]
    if head == "Optional":
        return union([*terms, "None"])
    if head == "Union":
        return union(terms)
    if head == "Annotated":
        return terms[0]
    return f"{head}[{', '.join(terms)}]"


def _is_literal(node: ast.expr) -> bool:
    match node:
        case ast.UnaryOp(ast.USub(), ast.Constant(value=int())):
            return True
        case ast.Constant(value=None | bool() | int() | str() | bytes()):
            return True
    return isinstance(node, ast.Attribute) and bool(_DOTTED.fullmatch(ast.unparse(node)))


def union(terms: Iterable[str]) -> str:
    """Return the union of types, without duplicates and with `None` last."""
    members = dict.fromkeys(member for term in terms for member in members_of(term))
    last = ["None"] if "None" in members else []
    return " | ".join([*(member for member in members if member != "None"), *last])


def same(first: str, second: str) -> bool:
    """Return True if two canonical types are equal, in any order of union members."""
    return sorted(members_of(first)) == sorted(members_of(second))


@functools.lru_cache(maxsize=65536)
def members_of(term: str) -> tuple[str, ...]:
    """Return the members of a union, or the type itself."""
    return tuple(split(term, " | ")) if " | " in term else (term,)


@functools.lru_cache(maxsize=65536)
def without_none(term: str) -> str:
    """Return a union without `None`, or `None` itself."""
    return union(member for member in members_of(term) if member != "None") or "None"


def split(text: str, separator: str) -> list[str]:
    """Split text at a separator outside of brackets and quotes."""
    parts, depth, last, quote = [], 0, 0, ""
    for position, char in enumerate(text):
        if quote or char in "\"'":
            quote = "" if quote == char else quote or char
            continue
        depth += (char in "([{<") - (char in ")]}" or (char == ">" and text[position - 1] != "-"))
        if depth == 0 and text.startswith(separator, position):
            parts.append(text[last:position])
            last = position + len(separator)
    return [*parts, text[last:]]


def head_of(term: str) -> str:
    return term.partition("[")[0]


def arguments_of(term: str) -> list[str]:
    """Return the arguments of a generic type, or an empty list."""
    _, bracket, rest = term.partition("[")
    return split(rest[:-1], ", ") if bracket else []


def names_of(term: str) -> set[str]:
    """Return the names that a type refers to."""
    return names_in(parse(term, "eval"))
