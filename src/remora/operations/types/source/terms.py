"""Types as text in one canonical form, so that equal types compare as equal text.

`Optional[X]` is written as `X | None`, `List` as `list`, and names without their module. `None` is
the last member of a union.
"""

import ast
import functools
import re
from collections.abc import Iterable, Iterator

from remora.python_text import parse

UNKNOWN = "Unknown"
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
_ITERATORS = (
    "map filter zip reversed chain islice starmap takewhile dropwhile accumulate zip_longest product"
    " permutations combinations cycle repeat pairwise compress filterfalse"
)
_ITERATOR = re.compile(rf"\b(?:{_ITERATORS.replace(' ', '|')})\[")
"""Classes of iterators, which are annotated as Iterator."""
_WITH_DEFAULTS = {"TextIOWrapper[Unknown]": "TextIO", "Message[str, str]": "Message"}
"""Types whose arguments are their defaults, as people write them."""
_CLASS = re.compile(r"<class '([\w.]+)'>")
_SELF = re.compile(r"\bSelf@[\w.<>]+")
_EXACT = re.compile(r"\b(float|complex)\*")
_UNPARSABLE = re.compile(r"->|@|\bdef |bound method|Overload\[|<|\bTop\[|\bBottom\[|\*")


@functools.lru_cache(maxsize=65536)
def canonical(annotation: str) -> str:
    """Return the canonical form of an annotation's source text, or an empty string."""
    try:
        return term_of(parse(annotation.strip(), "eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return ""


def term_of(node: ast.expr) -> str:
    """Return the canonical form of an annotation. Raises ValueError if it is not a type."""
    match node:
        case ast.Constant(value=str(text)):
            return term_of(parse(text.strip(), "eval").body)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _ALIASES.get(name, name)
        case ast.BinOp(op=ast.BitOr()):
            return union([term_of(node.left), term_of(node.right)])
        case ast.List():
            return f"[{', '.join(map(term_of, node.elts))}]"
        case ast.Subscript():
            return _subscript(node)
    text = ast.unparse(node)
    if text not in ("None", "()", "..."):
        raise ValueError(text)
    return text


def _subscript(node: ast.Subscript) -> str:
    head = term_of(node.value)
    inner = node.slice
    if head == "Literal":
        return f"Literal[{ast.unparse(inner).strip('()')}]"
    parts = inner.elts if isinstance(inner, ast.Tuple) and inner.elts else [inner]
    terms = [term_of(part) for part in parts]
    if head == "Optional":
        return union([*terms, "None"])
    if head == "Union":
        return union(terms)
    if head == "Annotated":
        return terms[0]
    return f"{head}[{', '.join(terms)}]"


def union(terms: Iterable[str]) -> str:
    """Return the union of types, without duplicates and with `None` last."""
    members = dict.fromkeys(member for term in terms for member in members_of(term))
    last = ["None"] if "None" in members else []
    return " | ".join([*(each for each in members if each != "None"), *last])


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
    return union(each for each in members_of(term) if each != "None") or "None"


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


def names_in(term: str) -> Iterator[str]:
    """Yield the names that a type refers to."""
    for node in ast.walk(parse(term, "eval")):
        if isinstance(node, ast.Name):
            yield node.id


def is_known(term: str) -> bool:
    """Return True if a type has no unknown part."""
    return bool(term) and not re.search(rf"\b{UNKNOWN}\b", term)


@functools.lru_cache(maxsize=65536)
def from_checker(text: str) -> str:
    """Return the canonical form of a type as the type checker prints it.

    Literals are widened to their class. Parts that cannot be written are `Unknown`.
    """
    plain = _ITERATOR.sub("Iterator[", _EXACT.sub(r"\1", text.strip()))
    return union(_member(member) for member in split(plain, " | "))


def _member(text: str) -> str:
    parts = [part for part in split(text, " & ") if not part.startswith("~")]
    if len(parts) != 1:
        return UNKNOWN
    inner = parts[0]
    if inner.startswith("(") and inner.endswith(")") and "->" not in inner:
        return from_checker(inner[1:-1])
    inner = _SELF.sub("Self", _CLASS.sub(r"type[\1]", inner))
    if _UNPARSABLE.search(re.sub(r"\"[^\"]*\"", "", inner)):
        return UNKNOWN
    try:
        return _widened(parse(inner, "eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return UNKNOWN


def _widened(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            is_hidden = name.startswith("_") or name in ("Divergent", "Todo")
            return UNKNOWN if is_hidden else term_of(node)
        case ast.BinOp(op=ast.BitOr()):
            return union([_widened(node.left), _widened(node.right)])
        case ast.Subscript():
            return _widened_generic(node)
        case ast.List():
            return f"[{', '.join(map(_widened, node.elts))}]"
    return term_of(node)


def _widened_generic(node: ast.Subscript) -> str:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if isinstance(node.value, ast.Name) and node.value.id == "Literal":
        return union(_class_of(each) for each in parts)
    arguments = ", ".join(map(_widened, parts)) or "()"
    head = term_of(node.value)
    return _WITH_DEFAULTS.get(f"{head}[{arguments}]", f"{head}[{arguments}]")


def _class_of(literal: ast.expr) -> str:
    match literal:
        case ast.Constant(value=None):
            return "None"
        case ast.Constant(value=value):
            return type(value).__name__
        case ast.UnaryOp():
            return "int"
        case ast.Attribute(value=ast.Name(id=name)):
            return name
    return UNKNOWN
