"""Where a file uses a name, by its syntax alone: no scope is looked at, nothing is resolved."""

import ast
import re
from collections.abc import Iterator

import msgspec

from remora.code.syntax.source import Source, read_source

_LINES = re.compile(rb"\r\n|\n|\r")
_SHOWN = 200
_Place = tuple[int, str]
_BINDS = {
    "FunctionDef": ("name", "definition"),
    "AsyncFunctionDef": ("name", "definition"),
    "ClassDef": ("name", "definition"),
    "TypeVar": ("name", "definition"),  # this and the next two: the syntax of 3.12
    "ParamSpec": ("name", "definition"),
    "TypeVarTuple": ("name", "definition"),
    "arg": ("arg", "parameter"),
    "keyword": ("arg", "keyword"),
    "alias": ("name", "import"),
    "ImportFrom": ("module", "import"),
    "Global": ("names", "declaration"),
    "Nonlocal": ("names", "declaration"),
    "ExceptHandler": ("name", "write"),
    "MatchAs": ("name", "write"),
    "MatchStar": ("name", "write"),
    "MatchMapping": ("rest", "write"),
    "MatchClass": ("kwd_attrs", "keyword"),
}
"""Nodes that hold names as text: in which attribute, and what they are there."""


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """One use of a name: its line (from 1), that line's text, and what the name is there.

    `kind`: definition, parameter, import, call, read, write, keyword, declaration (`global`,
    `nonlocal`), string (a literal that is just the name, as in `__all__`), or text, where the file
    is not Python and only the word was looked for.
    """

    line: int
    text: str
    kind: str


def find_name_references(name: str, source: bytes) -> list[Reference]:
    """Every use of the identifier `name` in a file, by line; one for each kind in a line."""
    if name.encode("utf-8", "surrogatepass") not in source and source.isascii():
        return []
    read = read_source("", source)
    if isinstance(read, Source):
        lines = read.utf8.split(b"\n")
        places = _in_tree(name, read.tree)
    else:
        lines = _LINES.split(source)
        places = _in_text(name, lines)
    return [
        Reference(line=line, text=_shown(lines[line - 1]), kind=kind)
        for line, kind in sorted(set(places))
    ]


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _in_text(name: str, lines: list[bytes]) -> Iterator[_Place]:
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    for number, line in enumerate(lines, 1):
        if word.search(line.decode("utf-8", "replace")):
            yield number, "text"


def _in_tree(name: str, tree: ast.Module) -> Iterator[_Place]:
    called: set[int] = set()
    pieces: set[int] = set()  # the text between an f-string's fields is no literal of its own
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called.add(id(node.func))
        elif isinstance(node, ast.JoinedStr):
            pieces.update(map(id, node.values))
        elif isinstance(node, ast.Name | ast.Attribute):
            if name == (node.id if isinstance(node, ast.Name) else node.attr):
                yield node.end_lineno or node.lineno, _used(node.ctx, id(node) in called)
        elif isinstance(node, ast.Constant):
            if node.value == name and id(node) not in pieces:
                yield node.lineno, "string"
        else:
            yield from ((line, kind) for found, line, kind in _bound(node) if found == name)


def _used(context: ast.expr_context, called: bool) -> str:
    if not isinstance(context, ast.Load):
        return "write"
    return "call" if called else "read"


def _bound(node: ast.AST) -> Iterator[tuple[str | None, int, str]]:
    """Names that a node holds as text, with the line and the kind."""
    attribute, kind = _BINDS.get(type(node).__name__, ("", ""))
    if not attribute:
        return
    held = getattr(node, attribute)
    # the rest of a mapping pattern has no place of its own, and is its last part
    line = node.end_lineno if isinstance(node, ast.MatchMapping) else getattr(node, "lineno", 0)
    for name in held if isinstance(held, list) else [held]:
        for part in str(name).split(".") if kind == "import" else [name]:
            yield part, line or 0, kind
    if isinstance(node, ast.alias):
        yield node.asname, line or 0, kind
