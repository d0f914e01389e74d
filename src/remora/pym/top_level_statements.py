"""Positions of a script's top-level statements, found without parsing the script.

Monty accepts syntax that the running Python version may not support, such as f-strings that reuse
their quote character inside a field (Python 3.12). For this reason, `ast` cannot parse a whole
script. This module scans only for strings, comments and brackets. The scan never fails, because
Monty reports the syntax errors.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(r"#[^\n]*|\\\n|\n|\w+|\"\"\"|'''|[ \t\f]+|.", re.DOTALL)
_BLANK = re.compile(r"#[^\n]*|[ \t\f\n]+")
_PREFIX = re.compile(r"(?:[rbuft]|[bft]r|r[bft])?", re.IGNORECASE)
_QUOTE = re.compile(r"\"\"\"|'''|\"|'")
_PLAIN = {
    "'": re.compile(r"(?:[^\\\n']|\\.)*'?", re.DOTALL),
    '"': re.compile(r'(?:[^\\\n"]|\\.)*"?', re.DOTALL),
    "'''": re.compile(r"(?:[^\\']|\\.|'(?!''))*(?:''')?", re.DOTALL),
    '"""': re.compile(r'(?:[^\\"]|\\.|"(?!""))*(?:""")?', re.DOTALL),
}
_TEXT = re.compile(r"[^\\{}\n'\"]+")
_NAMED_ESCAPE = re.compile(r"\\N\{[^}]*\}")


class Statement(NamedTuple):
    """A top-level statement.

    `first` and `last` are its first and last line numbers, starting at 1. `text` is its source.
    """

    first: int
    last: int
    text: str


def top_level_statements(source: str) -> list[Statement]:
    """Return the statements at column 0, in order.

    Decorators are part of the definition that follows. Comments and blank lines are part of the
    preceding statement.
    """
    lines = source.split("\n")
    starts: list[int] = []
    decorating = False
    for start in _starts(source):
        if not decorating:
            starts.append(start)
        decorating = lines[start - 1].startswith("@")
    ends = [start - 1 for start in starts[1:]] + [len(lines)] * bool(starts)
    return [
        Statement(first, last, "\n".join(lines[first - 1 : last]))
        for first, last in zip(starts, ends, strict=True)
    ]


def _starts(source: str) -> Iterator[int]:
    at, line, depth, fresh = 0, 1, 0, True
    while at < len(source):
        if fresh and not _BLANK.match(source, at):
            fresh = False
            if at == 0 or source[at - 1] == "\n":
                yield line
        token, end = _next(source, at, 0)
        line += source.count("\n", at, end)
        depth = max(0, depth + _depth_change(token))
        fresh = fresh or (depth == 0 and source[at] == "\n")
        at = end


def _depth_change(token: str) -> int:
    """Return the change in bracket depth that a token causes."""
    return (token in ("(", "[", "{")) - (token in (")", "]", "}"))


def _next(source: str, at: int, nested: int) -> tuple[str, int]:
    """Return the token at offset `at`, and the offset of its end.

    For a string, the token is its prefix and opening quote.
    """
    found = _TOKEN.match(source, at)
    token = found[0] if found else ""
    prefix = token if _PREFIX.fullmatch(token) else ""
    if (quote := _QUOTE.match(source, at + len(prefix))) is None:
        return token, at + len(token)
    opened = quote.end()
    if "f" in prefix.lower() or "t" in prefix.lower():
        end = _formatted_end(source, opened, quote[0], nested + 1, raw="r" in prefix.lower())
    else:
        plain = _PLAIN[quote[0]].match(source, opened)
        end = plain.end() if plain else opened
    return prefix + quote[0], end


def _formatted_end(source: str, at: int, quote: str, nested: int, *, raw: bool) -> int:
    """Return the end offset of the f-string whose content starts at `at`."""
    while at < len(source) and not source.startswith(quote, at):
        if source[at] == "\n" and len(quote) == 1:
            return at
        if source[at] == "{" and not source.startswith("{{", at):
            at = _field_end(source, at + 1, quote, nested)
        else:
            at = _text_end(source, at, raw=raw)
    return at + len(quote)


def _text_end(source: str, at: int, *, raw: bool) -> int:
    """Return the end offset of the piece of literal text at `at` in an f-string."""
    named = None if raw else _NAMED_ESCAPE.match(source, at)
    text = named or _TEXT.match(source, at)
    if text:
        return text.end()
    doubled = source.startswith("{{", at)
    escaped = source[at] == "\\" and source[at + 1 : at + 2] not in ("{", "}")
    return at + (2 if doubled or escaped else 1)


def _field_end(source: str, at: int, quote: str, nested: int) -> int:
    """Return the end of the replacement field whose expression starts at `at`."""
    if nested > 50:
        return len(source)
    depth = 0
    while at < len(source):
        if depth == 0 and source[at] in ":}":
            return _spec_end(source, at, quote, nested) if source[at] == ":" else at + 1
        token, at = _next(source, at, nested)
        depth += _depth_change(token)
    return at


def _spec_end(source: str, at: int, quote: str, nested: int) -> int:
    """Return the end of the replacement field whose format specification starts at `at`."""
    while at < len(source) and source[at] != "}" and not source.startswith(quote, at):
        at = _field_end(source, at + 1, quote, nested + 1) if source[at] == "{" else at + 1
    return at + (source[at : at + 1] == "}")
