"""Line spans of nodes, and hashes of their source and body."""

import ast
from collections.abc import Sequence
from hashlib import sha256

import msgspec

from remora.code.syntax.definitions import DEFINITIONS, DefinitionNode
from remora.code.syntax.signature import docstring_text, start_line
from remora.code.syntax.source import Source

_EMPTY_DIGEST = sha256()
_EMPTY_HASH = _EMPTY_DIGEST.hexdigest()
_MAY_HAVE_DECORATORS = frozenset(DEFINITIONS)


class Span(msgspec.Struct, frozen=True, gc=False):
    """The lines of a node, including decorators, and the hashes of its source and body.

    Lines count from 1. An empty module has lines 1 to 0.
    """

    line_start: int
    line_end: int
    source_hash: str
    body_hash: str

    @property
    def line_count(self) -> int:
        return self.line_end - self.line_start + 1


def span_of(node: DefinitionNode, source: Source, code: Sequence[ast.stmt] | None = None) -> Span:
    """Return the span of a definition.

    `code` is the body without the docstring. If it is not given, it is taken from `node`.
    """
    if code is None:
        code = without_docstring(node.body)
    start = start_line(node, source) if node.decorator_list else node.lineno
    end = node.end_lineno or node.lineno
    return Span(start, end, _digest(source.raw_lines(start, end)), _body_hash(source, code))


def module_span(source: Source) -> tuple[Span, str]:
    end = len(source.starts) - 1
    lines = source.raw_lines(1, end)
    digest = sha256(lines)
    file_hash = digest.hexdigest()
    digest.update(source.raw[len(lines) :])
    body_hash = _body_hash(source, without_docstring(source.tree.body))
    return Span(1, end, file_hash, body_hash), digest.hexdigest()


def without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    return body if docstring_text(body) is None else body[1:]


def _body_hash(source: Source, code: Sequence[ast.stmt]) -> str:
    """Return the hash of a dedented body. `code` does not include the docstring."""
    if not code:
        return _EMPTY_HASH
    first, last = code[0], code[-1]
    starts, column = source.starts, first.col_offset
    line = start_line(first, source) if first.__class__ in _MAY_HAVE_DECORATORS else first.lineno
    start = starts[line - 1] + column
    end = starts[(last.end_lineno or last.lineno) - 1] + (last.end_col_offset or last.col_offset)
    utf8 = source.utf8
    block = utf8[start:end]
    if column:
        # the block starts after the first line's margin; remove the margin from the other lines
        block = block.replace(b"\n" + utf8[start - column : start], b"\n")
    return _digest(block)


def _digest(block: bytes) -> str:
    digest = _EMPTY_DIGEST.copy()  # a copy is faster than looking up SHA-256 again
    digest.update(block)
    return digest.hexdigest()
