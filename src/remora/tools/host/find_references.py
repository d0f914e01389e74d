"""Host function that finds uses of a name in Python files."""

import ast
import re
from collections.abc import Iterator
from typing import Any
from unicodedata import normalize

import msgspec

from remora.code.syntax.source import Source, read_source
from remora.errors import HostError
from remora.tools.file_tree import FileTree
from remora.tools.host.text_files import list_files

_LINES = re.compile(rb"\r\n|\n|\r")
_MAX_LINE_TEXT = 200
_Use = tuple[int, str]
_TEXT_NAMES = {
    "FunctionDef": ("name", "definition"),
    "AsyncFunctionDef": ("name", "definition"),
    "ClassDef": ("name", "definition"),
    "TypeVar": ("name", "definition"),  # this and the next two are Python 3.12 syntax
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
"""Maps each node type that stores a name as a string to the attribute and the kind of reference."""
REFERENCE_LIMIT = 5000
_KINDS = (".py", ".pyi")
_EVERYWHERE = ("**/*.py", "**/*.pyi")


def find_references(place: FileTree, name: str, pattern: str | None = None) -> list[dict[str, Any]]:
    """Find uses of a name, sorted by path and line.

    Only Python files are searched. If `pattern` is given, only files that match it are searched.
    Each use has `path`, `line`, `text` (the source line) and `kind`. The kind is definition,
    parameter, import, call, read, write, keyword, declaration or string. In a file that does not
    parse, the kind is always text. The search is syntactic, so it also finds unrelated objects with
    the same name.
    """
    wanted = normalize("NFKC", name)  # as Python normalizes identifiers
    if not wanted.isidentifier():
        raise HostError(f"{name!r} is not a name; use e.g. parse instead of json.parse")
    found: list[dict[str, Any]] = []
    for path in _python_files(place, pattern):
        place.left()
        used = find_name_references(wanted, place.files.read_bytes(path))
        found += [{"path": path, **msgspec.structs.asdict(each)} for each in used]
        if len(found) > REFERENCE_LIMIT:
            raise HostError(f"{name}: more than {REFERENCE_LIMIT} uses; narrow the pattern")
    return found


def _python_files(place: FileTree, pattern: str | None) -> list[str]:
    patterns = _EVERYWHERE if pattern is None else (pattern,)
    paths = {path for each in patterns for path in list_files(place, each)}
    return sorted(path for path in paths if path.endswith(_KINDS))


class _Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A use of a name.

    `line` is the line number (from 1), `text` is the source of the line, and `kind` is the kind of
    use. `declaration` means `global` or `nonlocal`. `string` means a literal that is equal to the
    name, as in `__all__`. In a file that does not parse, every whole-word match has the
    kind `text`.
    """

    line: int
    text: str
    kind: str


def find_name_references(name: str, source: bytes) -> list[_Reference]:
    """Return the uses of `name` in a file, ordered by line.

    There is at most one result per line and kind.
    """
    if name.encode("utf-8", "surrogatepass") not in source and source.isascii():
        return []
    read = read_source("", source)
    if isinstance(read, Source):
        lines = read.utf8.split(b"\n")
        uses = _uses_in_tree(name, read.tree)
    else:
        lines = _LINES.split(source)
        uses = _uses_in_text(name, lines)
    return [
        _Reference(line=line, text=_line_text(lines[line - 1]), kind=kind)
        for line, kind in sorted(set(uses))
    ]


def _line_text(line: bytes) -> str:
    text = line.decode("utf-8", "replace").strip()
    return text if len(text) <= _MAX_LINE_TEXT else text[: _MAX_LINE_TEXT - 1] + "…"


def _uses_in_text(name: str, lines: list[bytes]) -> Iterator[_Use]:
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    for number, line in enumerate(lines, 1):
        if word.search(line.decode("utf-8", "replace")):
            yield number, "text"


def _uses_in_tree(name: str, tree: ast.Module) -> Iterator[_Use]:
    called: set[int] = set()
    pieces: set[int] = set()  # text between the fields of an f-string is not a literal
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called.add(id(node.func))
        elif isinstance(node, ast.JoinedStr):
            pieces.update(map(id, node.values))
        elif isinstance(node, ast.Name | ast.Attribute):
            if name == (node.id if isinstance(node, ast.Name) else node.attr):
                yield node.end_lineno or node.lineno, _use_kind(node.ctx, id(node) in called)
        elif isinstance(node, ast.Constant):
            if node.value == name and id(node) not in pieces:
                yield node.lineno, "string"
        else:
            yield from ((line, kind) for found, line, kind in _text_names(node) if found == name)


def _use_kind(context: ast.expr_context, called: bool) -> str:
    if not isinstance(context, ast.Load):
        return "write"
    return "call" if called else "read"


def _text_names(node: ast.AST) -> Iterator[tuple[str | None, int, str]]:
    """Yield each name that a node stores as a string, with its line and kind."""
    attribute, kind = _TEXT_NAMES.get(type(node).__name__, ("", ""))
    if not attribute:
        return
    stored = getattr(node, attribute)
    # `**rest` in a mapping pattern has no position, but is always the last part
    line = node.end_lineno if isinstance(node, ast.MatchMapping) else getattr(node, "lineno", 0)
    for name in stored if isinstance(stored, list) else [stored]:
        for part in str(name).split(".") if kind == "import" else [name]:
            yield part, line or 0, kind
    if isinstance(node, ast.alias):
        yield node.asname, line or 0, kind
