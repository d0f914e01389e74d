"""Where the comment `# remora: skip` stands in a file, and what it covers."""

import contextlib
import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

_MARK = re.compile(r"#\s*remora:\s*skip(?![\w-])")
_WORD = b"remora:"
_SILENT = {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


class SkipComments(NamedTuple):
    """`statements`: first lines of the statements whose header carries the comment.

    `alone`: the lines that hold nothing else.
    """

    statements: frozenset[int] = frozenset()
    alone: frozenset[int] = frozenset()


def find_skip_comments(utf8: bytes) -> SkipComments:
    """Every skip comment in a text that has parsed; the words inside a string are none."""
    if _WORD not in utf8:  # tokenizing costs ten times as much as parsing
        return SkipComments()
    text = utf8.decode()
    if not _MARK.search(text):
        return SkipComments()
    statements: set[int] = set()
    alone: set[int] = set()
    start: int | None = None
    for token in _tokens(text):
        if token.type == tokenize.COMMENT:
            if _MARK.search(token.string):
                (alone if start is None else statements).add(start or token.start[0])
        elif token.type == tokenize.NEWLINE:
            start = None
        elif token.type not in _SILENT and start is None:
            start = token.start[0]
    return SkipComments(frozenset(statements), frozenset(alone))


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    # the tokenizer module is not the parser's own: where it gives up, the comments so far count
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
