"""Lines of a source file, counted as Python and ruff count them."""

import codecs
import re
from difflib import SequenceMatcher
from typing import NamedTuple

from remora.errors import HostError

_ENDING = re.compile(r"\r\n|\n|\r")


class Text(NamedTuple):
    """The content of a text file, without its byte order mark."""

    body: str
    marked: bool

    def bytes(self) -> bytes:
        try:
            content = self.body.encode()
        except UnicodeEncodeError:
            raise HostError("a text with lone surrogates cannot be written as UTF-8") from None
        return codecs.BOM_UTF8 + content if self.marked else content


class Line(NamedTuple):
    """Offsets of a line in a string.

    `start` and `stop` are the start and end of the line without its ending. `next` is the start of
    the next line.
    """

    start: int
    stop: int
    next: int


def decode(path: str, content: bytes) -> Text:
    """Decode the content of a file. Raises HostError if it is not valid UTF-8."""
    marked = content.startswith(codecs.BOM_UTF8)
    try:
        return Text(content.removeprefix(codecs.BOM_UTF8).decode(), marked)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise HostError(f"{path}: not UTF-8 (line {line})") from None


def lines_of(body: str) -> list[Line]:
    """Return the lines of a string. A trailing line ending does not start another line."""
    found: list[Line] = []
    start = 0
    for ending in _ENDING.finditer(body):
        found.append(Line(start, ending.start(), ending.end()))
        start = ending.end()
    if start < len(body):
        found.append(Line(start, len(body), len(body)))
    return found


def split_lines(body: str, *, keepends: bool = False) -> list[str]:
    """Return the texts of the lines of a string, without their endings unless `keepends` is true.

    `str.splitlines` also splits at form feeds and other characters, so its line numbers are wrong.
    """
    if "\r" not in body:
        *lines, last = body.split("\n")
        lines = [f"{line}\n" for line in lines] if keepends else lines
        return [*lines, last] if last else lines
    return [body[line.start : line.next if keepends else line.stop] for line in lines_of(body)]


def with_own_endings(before: str, after: str, newline: str) -> str:
    """Return `after`, whose lines end as the lines of `before` do that they are or replace.

    Others end as the line above, and the first one with `newline`.
    """
    old, new = split_lines(before, keepends=True), split_lines(after, keepends=True)
    plain, made = ([line.rstrip("\r\n") for line in lines] for lines in (old, new))
    for _, start, end, first, last in SequenceMatcher(None, plain, made, False).get_opcodes():
        for number, at in enumerate(range(first, last), start):
            if number < end and old[number] != plain[number]:
                newline = newline_of(old[number])
            made[at] += newline if new[at] != made[at] else ""
    return "".join(made)


def newline_of(body: str) -> str:
    r"""Return the first line ending in `body`, or `\n` if it contains no line ending."""
    ending = _ENDING.search(body)
    return ending[0] if ending else "\n"


def with_newline(text: str, newline: str) -> str:
    return _ENDING.sub(lambda _: newline, text)


def offset(body: str, lines: list[Line], line: int, column: int) -> int:
    """Return the offset of a line and column.

    Lines and columns start at 1, and columns are counted in code points. The line after the last
    line refers to the end of `body`. Raises HostError if the position is outside `body`.
    """
    at = lines[line - 1].start + column - 1 if 1 <= line <= len(lines) else len(body)
    if line < 1 or line > len(lines) + 1 or column < 1 or at > len(body):
        raise HostError(f"there is no line {line}, column {column}")
    return at
