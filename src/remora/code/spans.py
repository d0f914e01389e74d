"""Which lines of its file a node covers, and the hashes of those lines and of its body."""

import ast
import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from remora.code.definitions import DefinitionNode
from remora.code.signature import docstring_text, first_line
from remora.code.source import Source

_EMPTY = hashlib.sha256(b"").hexdigest()


class Span(NamedTuple):
    """Lines from 1, the first decorator's to the last; an empty module has none: 1 to 0."""

    line_start: int
    line_end: int
    source_hash: str
    body_hash: str

    @property
    def line_count(self) -> int:
        """How many lines it covers."""
        return self.line_end - self.line_start + 1


def span_of(node: DefinitionNode, source: Source) -> Span:
    """The span of a definition."""
    start = first_line(node, source)
    end = node.end_lineno or node.lineno
    return Span(start, end, _lines_hash(source, start, end), _body_hash(source, node.body))


def module_span(source: Source) -> Span:
    """The span of the whole file."""
    end = len(source.starts) - 1
    return Span(1, end, _lines_hash(source, 1, end), _body_hash(source, source.tree.body))


def without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements that do something."""
    return body if docstring_text(body) is None else body[1:]


def _lines_hash(source: Source, first: int, last: int) -> str:
    """Of the raw bytes, line endings between the lines as they are in the file."""
    return hashlib.sha256(source.raw_lines(first, last)).hexdigest()


def _body_hash(source: Source, body: Sequence[ast.stmt]) -> str:
    """Of the body without docstring, moved to the left margin."""
    code = without_docstring(body)
    if not code:
        return _EMPTY
    line, column = first_line(code[0], source), code[0].col_offset
    last = code[-1]
    start = source.offset(line, column)
    end = source.offset(last.end_lineno or last.lineno, last.end_col_offset or last.col_offset)
    block = source.utf8[start:end]
    if column:
        # the lines that follow lose the margin that the first one has
        margin = source.utf8[start - column : start]
        block = block.replace(b"\n" + margin, b"\n")
    return hashlib.sha256(block).hexdigest()
