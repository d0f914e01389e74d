"""Detection of `# remora: skip` comments in a file."""

import contextlib
import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

_SKIP_COMMENT = re.compile(r"#\s*remora:\s*skip(?![\w-])")
_QUICK_TEST = b"remora:"
_IGNORED_TOKENS = {tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


class SkipComments(NamedTuple):
    """The lines of a file that are affected by skip comments.

    `statements` contains the first lines of statements that have a skip comment. `standalone`
    contains the lines that consist only of a skip comment.
    """

    statements: frozenset[int] = frozenset()
    standalone: frozenset[int] = frozenset()


def find_skip_comments(utf8: bytes) -> SkipComments:
    """Return the skip comments of a valid file. Strings that contain the same text are ignored."""
    if _QUICK_TEST not in utf8:  # tokenizing takes ten times as long as parsing
        return SkipComments()
    text = utf8.decode()
    if not _SKIP_COMMENT.search(text):
        return SkipComments()
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
    return SkipComments(frozenset(statements), frozenset(standalone))


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    # `tokenize` may reject what the parser accepts; comments found before the error are kept
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
