"""Bytes of a Python file become lines and a syntax tree, or the reason why they do not."""

import ast
import codecs
import threading
import tokenize
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

# catch_warnings swaps process-wide state: two threads inside it at once could leave it swapped
_QUIET = threading.Lock()


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is not Python as we can read it.

    `path` is the raw one that was asked for, `detail` one line for people, `line` counts from 1
    and is null where the trouble has no place.
    """

    path: str
    detail: str
    line: int | None = None


class Source(NamedTuple):
    """A file that parsed.

    `lines` are the raw bytes of each line with its ending; `utf8` the same lines without it, as
    UTF-8 and without a byte order mark, which is what the tree's columns count in.
    """

    raw: bytes
    encoding: str
    lines: Sequence[bytes]
    utf8: Sequence[bytes]
    tree: ast.Module


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
    utf8 = text.encode("utf-8", "surrogatepass").splitlines()
    if len(utf8) != len(source.removeprefix(codecs.BOM_UTF8).splitlines()):
        raise _RefusedError(f"the encoding {encoding} makes other lines than the file has")
    return Source(source, encoding, source.splitlines(keepends=True), utf8, _parse(text))


def parses(source: bytes) -> str | None:
    """None if `source` is readable Python, else why not, in one line."""
    outcome = read_source("", source)
    return outcome.detail if isinstance(outcome, Unreadable) else None


def printable(text: str) -> str:
    r"""`text` as one line that any UTF-8 consumer takes: lone surrogates become `\udXXX`."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode().splitlines())


def _decode(source: bytes) -> tuple[str, str]:
    if b"\0" in source:
        raise _RefusedError("contains a NUL byte", _line_of(source, source.index(b"\0")))
    lines = iter(source.splitlines(keepends=True))
    try:
        encoding, _ = tokenize.detect_encoding(lambda: next(lines, b""))
        return encoding, source.decode(encoding)
    except UnicodeDecodeError as error:
        detail = f"not valid {error.encoding}: {error.reason}"
        raise _RefusedError(detail, _line_of(source, error.start)) from error
    except SyntaxError as error:
        raise _RefusedError(error.msg, 1) from error
    except (LookupError, ValueError) as error:
        raise _RefusedError(f"the declared encoding does not decode it: {error}", 1) from error


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
        raise _RefusedError("nested too deeply for Python's parser") from error
    except ValueError as error:
        raise _RefusedError(str(error)) from error
