"""Docstring literals in the bytes of a file: where they are, and the source between their quotes."""

import ast
import codecs
import io
import re
import tokenize
from collections.abc import Sequence

import msgspec

from remora.code.edit.text_lines import newline_of, with_own_endings
from remora.code.syntax.definitions import DefinitionNode
from remora.code.syntax.signature import start_line
from remora.code.syntax.source import Source

_OPEN = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_SHAPE = re.compile(r"([rRuU]?)(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)


class InsertionPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a file that are replaced with the docstring's lines."""

    start: int
    """The offset of the first byte."""
    end: int
    """The offset after the last byte."""
    indent: str
    """The indentation of the body."""
    before: str = ""
    """What is inserted before the lines."""
    after: str = ""
    """What is inserted after the lines."""


def with_lines(source: Source, spot: InsertionPoint, lines: Sequence[str]) -> bytes:
    """Return the content of a file with lines at a place. Lines that were there end as before."""
    newline = newline_of((source.raw[spot.start :] + source.raw).decode())
    text = spot.before + "\n".join(lines) + spot.after
    made = with_own_endings(source.raw[spot.start : spot.end].decode(), text, newline).encode()
    return source.raw[: spot.start] + made + source.raw[spot.end :]


def _offset(source: Source, line: int, column: int) -> int:
    """Return the offset of a position of the tree in the bytes of the file."""
    has_mark = line == 1 and source.raw.startswith(codecs.BOM_UTF8)
    return source.raw_starts[line - 1] + len(codecs.BOM_UTF8) * has_mark + column


def _line(source: Source, number: int) -> bytes:
    """Return the bytes of a line of the file."""
    return source.raw[_offset(source, number, 0) : source.raw_starts[number]]


def existing_docstring_point(node: DefinitionNode, source: Source) -> InsertionPoint:
    literal = node.body[0].value  # type: ignore[attr-defined]
    start = _offset(source, literal.lineno, literal.col_offset)
    end = _offset(source, literal.end_lineno, literal.end_col_offset)
    line = _line(source, literal.lineno).decode()
    margin = line[: len(line) - len(line.lstrip())]
    own_line = not line.encode()[: literal.col_offset].strip()
    step = "" if own_line else _indent_step(source)
    return InsertionPoint(start=start, end=end, indent=margin + step)


def new_docstring_point(node: DefinitionNode, source: Source) -> InsertionPoint:
    """Return where a docstring is inserted. It replaces a lone `pass`."""
    first = node.body[0]
    line = start_line(first, source)
    before = _line(source, line)[: first.col_offset]
    if before.strip():
        return _one_line_body_point(node, source)
    indent = re.match(rb"[ \t\f]*", _line(source, line))
    if is_lone_pass(node.body):
        at = _offset(source, first.lineno, first.col_offset)
        return InsertionPoint(start=at, end=at + len("pass"), indent=before.decode())
    header = _header_end(node, source)
    while header < line - 1 and re.match(rb"\s*# *type:", _line(source, header + 1)):
        header += 1
    start = source.raw_starts[header]
    following = _line(source, header + 1) if header < len(source.raw_starts) - 1 else b""
    spaced = isinstance(node, ast.ClassDef) and bool(following.strip())
    margin = indent[0].decode() if indent else ""
    return InsertionPoint(
        start=start, end=start, indent=margin, before=margin, after="\n\n" if spaced else "\n"
    )


def is_lone_pass(body: Sequence[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Pass)


def _one_line_body_point(node: DefinitionNode, source: Source) -> InsertionPoint:
    """Return the insertion point for a node whose body is on the same line as its header.

    The body is moved to a new line.
    """
    first = node.body[0]
    at = _offset(source, first.lineno, first.col_offset)
    colon = source.raw[:at].rstrip()
    line = _line(source, node.lineno).decode()
    indent = line[: len(line) - len(line.lstrip())] + _indent_step(source)
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


def _indent_step(source: Source) -> str:
    for line in source.raw.splitlines():
        margin = re.match(rb"(\t| +)\S", line)
        if margin and margin[1] != b" " and not line.lstrip().startswith(b"#"):
            return margin[1].decode()
    return "    "


def _header_end(node: DefinitionNode, source: Source) -> int:
    """Return the number of the header's last line, counted from 1."""
    text = source.raw[_offset(source, node.lineno, 0) :].decode()
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
    """Parse a docstring literal. Return None if its source has escapes, or several literals."""
    shape = _SHAPE.fullmatch(source)
    if shape is None or shape[3] != value:
        return None
    return DocstringLiteral(shape[1], shape[2], shape[3])


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
