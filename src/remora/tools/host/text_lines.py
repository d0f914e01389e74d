"""The text of a source file by lines, as Python and ruff count them."""

import codecs
import re
from typing import NamedTuple

from remora.errors import HostError

_ENDING = re.compile(r"\r\n|\n|\r")


def clip(text: str, limit: int) -> str:
    """`text`, or its first `limit - 1` characters and `…` where it is longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class Text(NamedTuple):
    """A file's text without the byte order mark it may have begun with."""

    body: str
    marked: bool

    def bytes(self) -> bytes:
        """The file's content."""
        try:
            content = self.body.encode()
        except UnicodeEncodeError:
            raise HostError("a text with lone surrogates cannot be written as UTF-8") from None
        return codecs.BOM_UTF8 + content if self.marked else content


class Line(NamedTuple):
    """Where a line begins, where its text ends, and where the next line begins."""

    start: int
    stop: int
    next: int


def decode(path: str, content: bytes) -> Text:
    """The text of a file. Raises HostError for what is not UTF-8."""
    marked = content.startswith(codecs.BOM_UTF8)
    try:
        return Text(content.removeprefix(codecs.BOM_UTF8).decode(), marked)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise HostError(f"{path}: not UTF-8 (line {line})") from None


def lines_of(body: str) -> list[Line]:
    """The lines of a text; what follows a final line ending is not a line."""
    found: list[Line] = []
    start = 0
    for ending in _ENDING.finditer(body):
        found.append(Line(start, ending.start(), ending.end()))
        start = ending.end()
    if start < len(body):
        found.append(Line(start, len(body), len(body)))
    return found


def newline_of(body: str) -> str:
    """The line ending the text uses: its first one, `\\n` where it has none."""
    ending = _ENDING.search(body)
    return ending[0] if ending else "\n"


def with_newline(text: str, newline: str) -> str:
    """`text` with every line ending as `newline`."""
    return _ENDING.sub(lambda _: newline, text)


def offset(body: str, lines: list[Line], line: int, column: int) -> int:
    """Where a line and column (both from 1, code points) lie in the text.

    The line after the last is the text's end. Raises HostError for a place that is not there.
    """
    at = lines[line - 1].start + column - 1 if 1 <= line <= len(lines) else len(body)
    if line < 1 or line > len(lines) + 1 or column < 1 or at > len(body):
        raise HostError(f"there is no line {line}, column {column}")
    return at
