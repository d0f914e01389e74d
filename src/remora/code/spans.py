"""Which lines of its file a node covers, and the hashes of those lines and of its body."""

import ast
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from remora.code.definitions import DEFINITIONS, DefinitionNode
from remora.code.signature import docstring_text, first_line
from remora.code.source import Source

_FRESH = sha256()
_EMPTY = _FRESH.hexdigest()


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
    start = first_line(node, source) if node.decorator_list else node.lineno
    end = node.end_lineno or node.lineno
    whole = _digest(source.raw_lines(start, end))
    return Span(start, end, whole, _body_hash(source, node.body))


def module_span(source: Source) -> tuple[Span, str]:
    """The span of the whole file, and the hash of all its bytes."""
    end = len(source.starts) - 1
    lines = source.raw_lines(1, end)
    taken = sha256(lines)
    whole = taken.hexdigest()
    taken.update(source.raw[len(lines) :])
    return Span(1, end, whole, _body_hash(source, source.tree.body)), taken.hexdigest()


def without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements that do something."""
    return body if docstring_text(body) is None else body[1:]


def _body_hash(source: Source, body: Sequence[ast.stmt]) -> str:
    """Of the body without docstring, moved to the left margin."""
    code = without_docstring(body)
    if not code:
        return _EMPTY
    first, last = code[0], code[-1]
    starts, column = source.starts, first.col_offset
    line = first_line(first, source) if isinstance(first, DEFINITIONS) else first.lineno
    start = starts[line - 1] + column
    end = starts[(last.end_lineno or last.lineno) - 1] + (last.end_col_offset or last.col_offset)
    block = source.utf8[start:end]
    if column:
        # the lines that follow lose the margin that the first one has
        margin = source.utf8[start - column : start]
        block = block.replace(b"\n" + margin, b"\n")
    return _digest(block)


def _digest(block: bytes) -> str:
    taken = _FRESH.copy()  # looking SHA-256 up again takes as long as hashing a short function
    taken.update(block)
    return taken.hexdigest()
