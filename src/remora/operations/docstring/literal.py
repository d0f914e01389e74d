"""Docstring literals in the bytes of a file: where they are, and the source between their quotes."""

import ast
import codecs
import io
import re
import tokenize
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from remora.code.syntax.definitions import DefinitionNode
from remora.code.syntax.signature import start_line
from remora.code.syntax.source import Source
from remora.python_text import literal

_OPEN = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_SHAPE = re.compile(r"([rRuU]?)(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)


class InsertionPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Byte range of the file, from `start` to `end`, that is replaced with the docstring's lines.

    `indent` is the indentation of the body. `before` and `after` are inserted before and after the
    lines.
    """

    start: int
    end: int
    indent: str
    before: str = ""
    after: str = ""


class FileBytes:
    """The bytes of a file without the byte order mark, with its lines and its line ending."""

    def __init__(self, raw: bytes) -> None:
        self.mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        self.raw = raw.removeprefix(self.mark)
        self.lines = self.raw.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.newline = self._ending(self.lines[0]) if self.lines else "\n"

    def offset(self, line: int, column: int) -> int:
        """Return the byte offset of a line and column. Lines are counted from 1."""
        return self.starts[line - 1] + column

    def with_lines(self, spot: InsertionPoint, lines: Sequence[str]) -> bytes:
        text = spot.before + "\n".join(lines) + spot.after
        made = text.replace("\n", self.newline).encode()
        return self.mark + self.raw[: spot.start] + made + self.raw[spot.end :]

    @staticmethod
    def _ending(line: bytes) -> str:
        return line[len(line.rstrip(b"\r\n")) :].decode() or "\n"


@lru_cache(maxsize=4)  # planning needs the same file for each of its nodes
def file_bytes(raw: bytes) -> FileBytes:
    return FileBytes(raw)


def existing_docstring_point(node: DefinitionNode, body: FileBytes) -> InsertionPoint:
    literal = node.body[0].value  # type: ignore[attr-defined]
    start = body.offset(literal.lineno, literal.col_offset)
    end = body.offset(literal.end_lineno, literal.end_col_offset)
    line = body.lines[literal.lineno - 1].decode()
    margin = line[: len(line) - len(line.lstrip())]
    own_line = not body.lines[literal.lineno - 1][: literal.col_offset].strip()
    step = "" if own_line else _indent_step(body)
    return InsertionPoint(start=start, end=end, indent=margin + step)


def new_docstring_point(node: DefinitionNode, source: Source, body: FileBytes) -> InsertionPoint:
    """Return where a docstring is inserted. It replaces a lone `pass`."""
    first = node.body[0]
    line = start_line(first, source)
    before = body.lines[line - 1][: first.col_offset]
    if before.strip():
        return _one_line_body_point(node, body)
    indent = re.match(rb"[ \t\f]*", body.lines[line - 1])
    if is_lone_pass(node.body):
        at = body.offset(first.lineno, first.col_offset)
        return InsertionPoint(start=at, end=at + len("pass"), indent=before.decode())
    header = header_end(node, body)
    while header < line - 1 and re.match(rb"\s*# *type:", body.lines[header]):
        header += 1
    start = body.starts[header]
    following = body.lines[header] if header < len(body.lines) else b""
    spaced = isinstance(node, ast.ClassDef) and bool(following.strip())
    margin = indent[0].decode() if indent else ""
    return InsertionPoint(
        start=start, end=start, indent=margin, before=margin, after="\n\n" if spaced else "\n"
    )


def is_lone_pass(body: Sequence[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Pass)


def _one_line_body_point(node: DefinitionNode, body: FileBytes) -> InsertionPoint:
    """Return the insertion point for a node whose body is on the same line as its header.

    The body is moved to a new line.
    """
    first = node.body[0]
    at = body.offset(first.lineno, first.col_offset)
    colon = body.raw[:at].rstrip()
    line = body.lines[node.lineno - 1].decode()
    indent = line[: len(line) - len(line.lstrip())] + _indent_step(body)
    if is_lone_pass(node.body):
        end = at + len("pass")
        return InsertionPoint(start=len(colon), end=end, indent=indent, before="\n" + indent)
    after = (
        "\n\n"
        if isinstance(node, ast.ClassDef) and not isinstance(node.body[0], ast.Pass | ast.Expr)
        else "\n"
    )
    return InsertionPoint(
        start=len(colon), end=at, indent=indent, before="\n" + indent, after=after + indent
    )


def _indent_step(body: FileBytes) -> str:
    for line in body.lines:
        margin = re.match(rb"(\t| +)\S", line)
        if margin and margin[1] != b" " and not line.lstrip().startswith(b"#"):
            return margin[1].decode()
    return "    "


def header_end(node: DefinitionNode, body: FileBytes) -> int:
    """Return the number of the header's last line, counted from 1."""
    text = b"".join(body.lines[node.lineno - 1 :]).decode()
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP:
            depth += _OPEN.get(token.string, 0)
        elif token.type == tokenize.NEWLINE and depth == 0:
            return node.lineno - 1 + token.end[0]
    return node.lineno


class DocstringLiteral(msgspec.Struct, frozen=True):
    r"""A docstring literal. `inner` is the source between the quotes, with `\n` as line ending."""

    prefix: str
    quotes: str
    inner: str


def read_literal(source: str, value: str) -> DocstringLiteral | None:
    """Parse a docstring literal.

    Return None if the lines of its source do not match the lines of its value.
    """
    tokens = []
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({source})").readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    shape = _SHAPE.fullmatch(source)
    if sum(token.type == tokenize.STRING for token in tokens) != 1 or shape is None:
        return None
    found = DocstringLiteral(shape[1], shape[2], shape[3])
    plain = "\\" not in found.inner or "r" in found.prefix.lower()
    if plain:
        return found if found.inner == value else None
    return found if _lines_match(found, value) else None


def _lines_match(found: DocstringLiteral, value: str) -> bool:
    lines = found.inner.split("\n")
    if len(found.quotes) == 1 or len(lines) != value.count("\n") + 1:
        return False
    try:
        read = [literal(f"{found.quotes}{line} {found.quotes}")[:-1] for line in lines]
    except (SyntaxError, ValueError):
        return False
    return read == value.split("\n")


def new_literal(lines: Sequence[str], quotes: str, indent: str, *, below: bool) -> list[str]:
    """Return the source lines of a new docstring. The first line is not indented.

    The literal is raw if a line contains a backslash. If `below` is true, multi-line text starts on
    the line below the opening quotes.
    """
    prefix = "r" if any("\\" in line for line in lines) else ""
    if len(lines) == 1 and not lines[0].endswith((quotes[0], "\\")):
        return [f"{prefix}{quotes}{lines[0]}{quotes}"]
    first = [prefix + quotes, indent + lines[0]] if below else [prefix + quotes + lines[0]]
    return [*first, *lines[1:], indent + quotes]


def updated_literal(found: DocstringLiteral, inner: Sequence[str]) -> str:
    quotes = found.quotes if len(found.quotes) == 3 or len(inner) == 1 else found.quotes * 3
    text = "\n".join(inner)
    return f"{found.prefix}{quotes}{text}{quotes}"
