"""Bytes of a Python file become lines and a syntax tree, or the reason why they do not."""

import ast
import codecs
import re
import threading
import tokenize
import warnings
from collections.abc import Callable, Sequence
from itertools import accumulate

import msgspec

# catch_warnings swaps process-wide state: two threads inside it at once could leave it swapped
_QUIET = threading.Lock()
_ROOMY = 100_000
"""Characters whose tree fits into any memory."""
_TWO_LINES = re.compile(rb"(?:[^\r\n]*(?:\r\n?|\n)?){2}")
_NEWLINE, _RETURN = b"\n\r"


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is not Python as we can read it.

    `path` is the raw one that was asked for, `detail` one line for people, `line` counts from 1
    and is null where the trouble has no place.
    """

    path: str
    detail: str
    line: int | None = None


class Source(msgspec.Struct, frozen=True):
    r"""A file that parsed.

    `utf8` is what the tree's columns count in: UTF-8 without a byte order mark, each line ended by
    `\n`. Of `raw`, the file's own bytes, and of `utf8` the offsets of each line's first byte, and of
    the end: one more than there are lines, the same for both.
    """

    raw: bytes
    raw_starts: Sequence[int]
    utf8: bytes
    starts: Sequence[int]
    encoding: str
    tree: ast.Module

    def raw_lines(self, first: int, last: int) -> bytes:
        """The file's own bytes from line `first` to `last` (from 1), without the last newline."""
        raw, end = self.raw, self.raw_starts[last]
        start = self.raw_starts[first - 1]
        if end > start and raw[end - 1] == _NEWLINE:
            end -= 1
        if end > start and raw[end - 1] == _RETURN:
            end -= 1
        return raw[start:end]

    def line(self, number: int) -> bytes:
        """One line (from 1) with its ending."""
        return self.utf8[self.starts[number - 1] : self.starts[number]]

    def offset(self, line: int, column: int) -> int:
        """Where in `utf8` a place of the tree is; lines count from 1, columns from 0."""
        return self.starts[line - 1] + column


class _RefusedError(Exception):
    """Why a file cannot be read, on its way to becoming an `Unreadable`."""

    def __init__(self, detail: str, line: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.line = line


def read_source(path: str, source: bytes) -> Source | Unreadable:
    """Decode (PEP 263, byte order mark) and parse; never raises and never warns."""
    try:
        return _read(source)
    except _RefusedError as refused:
        where = f"line {refused.line}: " if refused.line is not None else ""
        return Unreadable(path=path, detail=printable(where + refused.detail), line=refused.line)


def _read(source: bytes) -> Source:
    encoding, text = _decode(source)
    utf8 = source if encoding == "utf-8" else text.encode("utf-8", "surrogatepass")
    placed = _lines(source, utf8, encoding)
    return Source(source, *placed, encoding, _parse(text))


def read_broken(source: bytes, salvage: Callable[[bytes], ast.Module]) -> Source:
    r"""What `read_source` refused, read as far as it goes.

    A NUL byte and what cannot be decoded are read as the escapes `\x00` and `\xff`. If that is not
    Python, `salvage` makes the tree, out of `Source.utf8`.
    """
    escaped = source.replace(b"\0", b"\\x00")
    try:
        encoding, text = _decode(escaped)
        placed = _lines(source, text.encode(), encoding)
    except (_RefusedError, UnicodeEncodeError):
        encoding, text = "utf-8", escaped.decode("utf-8-sig", "backslashreplace")
        placed = _lines(source, text.encode(), encoding)
    tree = parse_text(text)
    if not isinstance(tree, ast.Module):
        tree = salvage(placed[1])
    return Source(source, *placed, encoding, tree)


def _lines(source: bytes, utf8: bytes, encoding: str) -> tuple[list[int], bytes, list[int]]:
    """See Source: `raw_starts`, `utf8`, `starts`."""
    if b"\r" in utf8:
        utf8 = utf8.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    raw_starts = starts = _starts(source)
    if utf8 is not source:
        # a byte order mark alone is a line of the file, and no line of text
        starts = [0, 0] if source == codecs.BOM_UTF8 else _starts(utf8)
        if len(starts) != len(raw_starts):
            raise _RefusedError(f"the encoding {encoding} makes other lines than the file has")
    return raw_starts, utf8, starts


def _starts(lines: bytes) -> list[int]:
    return list(accumulate(map(len, lines.splitlines(keepends=True)), initial=0))


def parse_text(text: str) -> ast.Module | str:
    """The tree, or in one line why there is none."""
    try:
        return _parse(text)
    except _RefusedError as refused:
        return refused.detail


def parses(source: bytes) -> str | None:
    """None if `source` is readable Python, else why not, in one line."""
    outcome = read_source("", source)
    return outcome.detail if isinstance(outcome, Unreadable) else None


def printable(text: str) -> str:
    r"""`text` as one line that any UTF-8 consumer takes: lone surrogates become `\udXXX`."""
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
        raise _RefusedError(f"the declared encoding does not decode it: {error}", 1) from error


def _encoding(source: bytes) -> str:
    """As PEP 263 has it."""
    found = _TWO_LINES.match(source)
    head = found[0] if found else b""
    if b"coding" not in head and not head.startswith(codecs.BOM_UTF8):
        return "utf-8"
    lines = iter(head.splitlines(keepends=True))
    return tokenize.detect_encoding(lambda: next(lines, b""))[0]


def _line_of(source: bytes, offset: int) -> int:
    return len((source[:offset] + b".").splitlines())


def _parse(text: str) -> ast.Module:
    try:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise _RefusedError(error.msg, error.lineno) from error
    except (RecursionError, MemoryError, SystemError) as error:
        # CPython has a fixed stack for parser and tree; which error says so depends on the shape
        enough = "" if len(text) <= _ROOMY else ", or larger than memory allows"
        raise _RefusedError(f"nested too deeply for Python's parser{enough}") from error
    except ValueError as error:
        raise _RefusedError(str(error)) from error
