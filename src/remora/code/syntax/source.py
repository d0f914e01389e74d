"""Decoding and parsing of a Python file."""

import ast
import codecs
import re
import tokenize
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from unicodedata import combining

import msgspec

from remora.python_text import parse, without_warnings

_SMALL_SOURCE = 100_000  # characters; the tree of such a source always fits into memory
_KEPT_TREES = 8
"""Trees that are kept: two versions of the files of four jobs at a time (decision)."""
_TWO_LINES = re.compile(rb"(?:[^\r\n]*(?:\r\n?|\n)?){2}")
_NEWLINE, _RETURN = b"\n\r"


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """A file that cannot be decoded or parsed.

    `detail` is a one-line error message. `line` counts from 1.
    """

    path: str
    detail: str
    line: int | None = None


class Source(msgspec.Struct, frozen=True):
    """A source file and its syntax tree."""

    raw: bytes
    raw_starts: Sequence[int]
    """Offset of each line in `raw`, followed by the offset of the end."""
    utf8: bytes
    """The source in UTF-8, without a byte order mark and with LF line endings."""
    starts: Sequence[int]
    """Offset of each line in `utf8`, followed by the offset of the end."""
    encoding: str
    tree: ast.Module
    """Syntax tree, whose columns count bytes of `utf8`."""

    def raw_lines(self, first: int, last: int) -> bytes:
        """Return lines `first` to `last` of `raw` (counted from 1), without the last newline."""
        raw, end = self.raw, self.raw_starts[last]
        start = self.raw_starts[first - 1]
        if end > start and raw[end - 1] == _NEWLINE:
            end -= 1
        if end > start and raw[end - 1] == _RETURN:
            end -= 1
        return raw[start:end]

    def line(self, number: int) -> bytes:
        """Return a line (counted from 1), including its line ending."""
        return self.utf8[self.starts[number - 1] : self.starts[number]]

    def offset(self, line: int, column: int) -> int:
        """Return the offset in `utf8` of a position in the tree: line from 1, column from 0."""
        return self.starts[line - 1] + column


class _RefusedError(Exception):
    """Raised if a file cannot be decoded or parsed, and converted to an `Unreadable`."""

    def __init__(self, detail: str, line: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.line = line


def read_source(path: str, source: bytes) -> Source | Unreadable:
    """Decode and parse a file. Never raises or warns.

    The encoding is given by a byte order mark or a PEP 263 declaration. The default is UTF-8.
    """
    return _read_with(_parse, path, source)


def shared_source(path: str, source: bytes) -> Source | Unreadable:
    """Return what `read_source` returns, with a tree that others use, too, and that must not change."""
    return _read_with(_kept, path, source)


def _read_with(
    parse_with: Callable[[str], ast.Module], path: str, source: bytes
) -> Source | Unreadable:
    try:
        encoding, text = _decode(source)
        utf8 = source if encoding == "utf-8" else text.encode("utf-8", "surrogatepass")
        lines = _lines(source, utf8, encoding)
        return Source(source, *lines, encoding, parse_with(text))
    except _RefusedError as refused:
        where = f"line {refused.line}: " if refused.line is not None else ""
        return Unreadable(path=path, detail=printable(where + refused.detail), line=refused.line)


def read_with_recovery(source: bytes, recover: Callable[[bytes], ast.Module]) -> Source:
    """Read as much as possible of a file that `read_source` rejects.

    NUL bytes and undecodable bytes are escaped. `recover` builds the tree if the source does not
    parse.
    """
    escaped = source.replace(b"\0", b"\\x00")
    try:
        encoding, text = _decode(escaped)
        lines = _lines(source, text.encode(), encoding)
    except (_RefusedError, UnicodeEncodeError):
        encoding, text = "utf-8", escaped.decode("utf-8-sig", "backslashreplace")
        lines = _lines(source, text.encode(), encoding)
    tree = parse_text(text)
    if not isinstance(tree, ast.Module):
        tree = recover(lines[1])
    return Source(source, *lines, encoding, tree)


def _lines(source: bytes, utf8: bytes, encoding: str) -> tuple[list[int], bytes, list[int]]:
    if b"\r" in utf8:
        utf8 = utf8.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    raw_starts = starts = _line_starts(source)
    if utf8 is not source:
        # a lone byte order mark is a line of the file but not of the text
        starts = [0, 0] if source == codecs.BOM_UTF8 else _line_starts(utf8)
        if len(starts) != len(raw_starts):
            raise _RefusedError(f"decoding as {encoding} changes the number of lines")
    return raw_starts, utf8, starts


def _line_starts(lines: bytes) -> list[int]:
    return list(accumulate(map(len, lines.splitlines(keepends=True)), initial=0))


def parse_text(text: str) -> ast.Module | str:
    """Return the syntax tree of `text`, or a one-line error message."""
    try:
        return _parse(text)
    except _RefusedError as refused:
        return refused.detail


def shared_tree(text: str) -> ast.Module | str:
    """Return what `parse_text` returns, as a tree that others use, too, and that must not change."""
    try:
        return _kept(text)
    except _RefusedError as refused:
        return refused.detail


def _kept(text: str) -> ast.Module:
    return _parse_once(text) if len(text) <= _SMALL_SOURCE else _parse(text)


def parse_error(source: bytes) -> str | None:
    """Return the decoding or syntax error of `source` as one line, or None if there is no error."""
    outcome = shared_source("", source)
    return outcome.detail if isinstance(outcome, Unreadable) else None


def compile_error(source: Source | Unreadable) -> str | None:
    """Return why a file does not parse or compile, as one line, or None if it does.

    An example of a file that only parses is one with a `return` outside of a function.
    """
    if isinstance(source, Unreadable):
        return source.detail
    try:
        with without_warnings():
            compile(source.tree, "<source>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return printable(f"line {error.lineno}: {error.msg}")
    except (RecursionError, MemoryError, SystemError, ValueError, OverflowError) as error:
        return printable(f"{type(error).__name__}: {error}")
    return None


def printable(text: str) -> str:
    """Return `text` as one line of valid UTF-8. Lone surrogates are escaped."""
    if text.isprintable():
        return text
    return " ".join(text.encode("utf-8", "backslashreplace").decode().splitlines())


def _decode(source: bytes) -> tuple[str, str]:
    if b"\0" in source:
        raise _RefusedError("contains a NUL byte", _line_of(source, source.index(b"\0")))
    try:
        encoding = _encoding(source)
        return encoding, source.decode(encoding)
    except UnicodeDecodeError as error:
        detail = f"not valid {error.encoding}: {error.reason}"
        raise _RefusedError(detail, _line_of(source, error.start)) from error
    except SyntaxError as error:
        raise _RefusedError(error.msg, 1) from error
    except (LookupError, ValueError) as error:
        raise _RefusedError(f"the declared encoding cannot decode the file: {error}", 1) from error


def _encoding(source: bytes) -> str:
    found = _TWO_LINES.match(source)
    head = found[0] if found else b""
    if b"coding" not in head and not head.startswith(codecs.BOM_UTF8):
        return "utf-8"
    lines = iter(head.splitlines(keepends=True))
    name = tokenize.detect_encoding(lambda: next(lines, b""))[0]
    return "utf-8" if codecs.lookup(name).name == "utf-8" else name  # such as utf8 and U8


def _line_of(source: bytes, offset: int) -> int:
    return len((source[:offset] + b".").splitlines())


def _parse(text: str) -> ast.Module:
    if refused := why_not_parsed(text):
        raise _RefusedError(refused)
    try:
        return parse(text)
    except SyntaxError as error:
        raise _RefusedError(error.msg, error.lineno) from error
    except (RecursionError, MemoryError, SystemError) as error:
        # CPython's parser has a fixed stack size; the error type depends on the syntax
        enough = "" if len(text) <= _SMALL_SOURCE else ", or larger than memory allows"
        raise _RefusedError(f"nested too deeply for Python's parser{enough}") from error
    except ValueError as error:
        raise _RefusedError(str(error)) from error


_parse_once = lru_cache(maxsize=_KEPT_TREES)(_parse)
_F_STRING_COST = 10**10
"""Characters times parts of all f-strings; takes 2 s."""
_DOTTED_COST = 10**8
"""Characters times dots of all imported names; takes 50 MB."""
_COMBINING_COST = 10**9
"""Squared numbers of the combining characters in a row; takes 2 s."""
_LITERAL = re.compile(
    r"#[^\r\n]*+"
    r'|([a-z]{0,2})(?:"""(?:[^\\"]++|\\.|"(?!""))*+(?:""")?'
    r"|'''(?:[^\\']++|\\.|'(?!''))*+(?:''')?"
    r'|"(?:[^\\"\r\n]++|\\(?:\r\n|.))*+"?'
    r"|'(?:[^\\'\r\n]++|\\(?:\r\n|.))*+'?)",
    re.DOTALL | re.IGNORECASE,
)
"""A comment, or a string literal with its prefix. An unterminated literal ends where it is refused."""
_LETTER = r"[^\x00-/:-@\[-^`{-\x7f]"  # a set that named all others would take 4 ms to compile
_SPACE = r"[ \t\f\\\r\n]*+"
_DOTTED = re.compile(
    rf"(?:import|from|,)[ \t\f\\\r\n.]*+({_LETTER}++(?:{_SPACE}\.{_SPACE}{_LETTER}++)++)"
)
"""A dotted name that may be a part of an import."""

_NO_LETTERS = re.compile(r"[^\w\x00-\x7f]{1000,}+")
"""Characters in a row that may be combining ones. Shorter rows are cheap, however many there are."""


def why_not_parsed(text: str) -> str:
    """Return why a text is too expensive to parse, or an empty string. Takes linear time."""
    if _exceeds(_F_STRING_COST, text, "{", _f_strings):
        return "its f-strings have too many parts for Python's parser"
    if _exceeds(_DOTTED_COST, text, ".", _dotted_names):
        return "its imports have names that are too long for Python's parser"
    rows = (sum(map(bool, map(combining, row))) for row in _NO_LETTERS.findall(text))
    if sum(number * number for number in rows) > _COMBINING_COST:
        return "it has too many combining characters in a row for Python's parser"
    return ""


def _exceeds(limit: int, text: str, mark: str, parts: Callable[[str], Iterator[str]]) -> bool:
    """Return True if length times number of marks, summed over the parts of a text, is too large."""
    if len(text) * text.count(mark) <= limit:
        return False
    return sum(len(part) * part.count(mark) for part in parts(text)) > limit


def _f_strings(text: str) -> Iterator[str]:
    return (literal[0] for literal in _LITERAL.finditer(text) if "f" in (literal[1] or "").lower())


def _dotted_names(text: str) -> Iterator[str]:
    return (name[1] for name in _DOTTED.finditer(text))
