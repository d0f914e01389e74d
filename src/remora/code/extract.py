"""Extraction of the nodes of a Python file, without those that a `# remora: skip` comment excludes."""

import ast
import contextlib
import io
import re
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from remora.code.docstrings.drift_rules import is_docstring_outdated
from remora.code.syntax.definitions import Definition, find_definitions
from remora.code.syntax.nodes import Module, Node
from remora.code.syntax.signature import (
    decorator_texts,
    docstring_summary,
    docstring_text,
    signature,
    start_line,
)
from remora.code.syntax.source import Source, Unreadable, shared_source
from remora.code.syntax.spans import Span, module_span, span_of, without_docstring
from remora.ids import MODULE, NodeKey, escape_path, node_key
from remora.text import REPORT, bug_report_line

_SKIP_COMMENT = re.compile(r"#\s*remora:\s*skip(?![\w-])")
_QUICK_TEST = b"remora:"
_IGNORED_TOKENS = {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


class _SkipComments(NamedTuple):
    """The lines of a file that are affected by skip comments.

    `statements` contains the first lines of statements that have a skip comment. `standalone`
    contains the lines that consist only of a skip comment.
    """

    statements: frozenset[int] = frozenset()
    standalone: frozenset[int] = frozenset()


_MAX_CACHED_FILES = 32
_MAX_CACHED_BYTES = 256 * 1024


def parse_module(path: str, source: bytes) -> Module | Unreadable:
    """Return the nodes of a file. Never raises or warns.

    `path` is a relative POSIX path. Results are cached for small files.
    """
    return _parse_cached(path, source) if len(source) <= _MAX_CACHED_BYTES else _parse(path, source)


@lru_cache(maxsize=_MAX_CACHED_FILES)
def _parse_cached(path: str, source: bytes) -> Module | Unreadable:
    return _parse(path, source)


def _parse(path: str, source: bytes) -> Module | Unreadable:
    try:
        return _read(path, source)
    except Exception as error:  # noqa: BLE001 - an error in one file must not affect others
        return Unreadable(path=path, detail=f"{bug_report_line(error)}; {REPORT}")


def _read(path: str, source: bytes) -> Module | Unreadable:
    read = shared_source(path, source)
    if isinstance(read, Unreadable):
        return read
    spelled = escape_path(path)
    skips = _find_skip_comments(read.utf8)
    span, file_hash = module_span(read)
    own = _module_node(path, spelled, read, skips, span)
    nodes = [own]
    skipped: dict[NodeKey, bool] = {own.key: own.skip}
    for definition in find_definitions(read.tree, spelled):
        # nodes nested in a skipped node are skipped too
        skip = skipped[definition.parent] or definition.node.lineno in skips.statements
        skipped[definition.key] = skip
        nodes.append(_node(path, definition, read, skip=skip))
    return Module(
        path=path,
        key=own.key,
        nodes=tuple(nodes),
        file_hash=file_hash,
        line_count=own.line_count,
        encoding=read.encoding,
    )


def _node(path: str, definition: Definition, source: Source, *, skip: bool) -> Node:
    found = definition.node
    span = span_of(found, source)
    text = docstring_text(found.body)
    return Node(
        key=definition.key,
        path=path,
        qualname=definition.qualname,
        node_type="class" if isinstance(found, ast.ClassDef) else "function",
        signature=signature(found),
        docstring=docstring_summary(found.body),
        docstring_outdated=text is not None and is_docstring_outdated(found, text),
        decorators=decorator_texts(found, source),
        line_start=span.line_start,
        line_end=span.line_end,
        line_count=span.line_count,
        source_hash=span.source_hash,
        body_hash=span.body_hash,
        parent=definition.parent,
        skip=skip,
    )


def _module_node(path: str, spelled: str, source: Source, skips: _SkipComments, span: Span) -> Node:
    body = source.tree.body
    code = without_docstring(body)
    first_code = start_line(code[0], source) if code else span.line_end + 1
    return Node(
        key=node_key(spelled),
        path=path,
        qualname=MODULE,
        node_type="module",
        signature=None,
        docstring=docstring_summary(body),
        docstring_outdated=False,
        decorators=(),
        line_start=span.line_start,
        line_end=span.line_end,
        line_count=span.line_count,
        source_hash=span.source_hash,
        body_hash=span.body_hash,
        parent=None,
        skip=any(line < first_code for line in skips.standalone),
    )


def _find_skip_comments(utf8: bytes) -> _SkipComments:
    """Return the skip comments of a valid file. Strings that contain the same text are ignored."""
    if _QUICK_TEST not in utf8:  # tokenizing takes ten times as long as parsing
        return _SkipComments()
    text = utf8.decode()
    if not _SKIP_COMMENT.search(text):
        return _SkipComments()
    statements: set[int] = set()
    standalone: set[int] = set()
    start: int | None = None
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            if _SKIP_COMMENT.search(token.string):
                (standalone if start is None else statements).add(start or token.start[0])
        elif token.type == tokenize.NEWLINE:
            start = None
        elif token.type not in _IGNORED_TOKENS and start is None:
            start = token.start[0]
    return _SkipComments(frozenset(statements), frozenset(standalone))


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    # `tokenize` may reject what the parser accepts; comments found before the error are kept
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
