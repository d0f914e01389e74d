"""Which lines of its file a node covers, and the hashes of those lines and of its body."""

import ast
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode
from remora.code.syntax.signature import docstring_text, start_line
from remora.code.syntax.source import Source

_FRESH = sha256()
_EMPTY = _FRESH.hexdigest()
_DECORATED = frozenset(DEFINITIONS)


class Span(msgspec.Struct, frozen=True, gc=False):
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
    code = without_docstring(node.body)
    return span_with(node, source, code)


def span_with(node: DefinitionNode, source: Source, code: Sequence[ast.stmt]) -> Span:
    """The same; `code` is the body without its docstring."""
    start = start_line(node, source) if node.decorator_list else node.lineno
    end = node.end_lineno or node.lineno
    return Span(start, end, _digest(source.raw_lines(start, end)), _body_hash(source, code))


def module_span(source: Source) -> tuple[Span, str]:
    """The span of the whole file, and the hash of all its bytes."""
    end = len(source.starts) - 1
    lines = source.raw_lines(1, end)
    taken = sha256(lines)
    whole = taken.hexdigest()
    taken.update(source.raw[len(lines) :])
    return Span(
        1, end, whole, _body_hash(source, without_docstring(source.tree.body))
    ), taken.hexdigest()


def without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements that do something."""
    return body if docstring_text(body) is None else body[1:]


def _body_hash(source: Source, code: Sequence[ast.stmt]) -> str:
    """Of a body without its docstring, moved to the left margin."""
    if not code:
        return _EMPTY
    first, last = code[0], code[-1]
    starts, column = source.starts, first.col_offset
    line = start_line(first, source) if first.__class__ in _DECORATED else first.lineno
    start = starts[line - 1] + column
    end = starts[(last.end_lineno or last.lineno) - 1] + (last.end_col_offset or last.col_offset)
    utf8 = source.utf8
    block = utf8[start:end]
    if column:
        # the lines that follow lose the margin that the first one has
        block = block.replace(b"\n" + utf8[start - column : start], b"\n")
    return _digest(block)


def _digest(block: bytes) -> str:
    taken = _FRESH.copy()  # looking SHA-256 up again takes as long as hashing a short function
    taken.update(block)
    return taken.hexdigest()
