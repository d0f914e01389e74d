"""Docstring texts as a writer gives them: without indentation, and with any line length."""

import inspect
import re
from collections.abc import Iterator

from remora.code.syntax.docstring_sections import parse_docstring
from remora.operations.docstring.layout import wrapped
from remora.operations.docstring.parts import DocstringFormat

_QUOTED = re.compile(r"[rR]?(\"\"\"|''')(.*)\1", re.DOTALL)
_LONGEST = 4000
_CODE = (">>>", "...")


def plain_text(given: str) -> str:
    """Return a text without quotes around it, common indentation and blank lines at its ends."""
    quoted = _QUOTED.fullmatch(given.strip())
    return inspect.cleandoc(quoted[2] if quoted else given)


def text_problem(text: str, room: int) -> str:
    """Return why a text cannot be a docstring whose first line has `room`, or an empty string."""
    first = text.split("\n", maxsplit=1)[0]
    if not first:
        return "a docstring needs a text"
    if len(first) > room:
        return f"the first line has {len(first)} characters (maximum {room})"
    if len(text) > _LONGEST:
        return f"the text has {len(text):,} characters (maximum {_LONGEST:,})"
    if not text.replace("\n", "").isprintable():
        return "the text contains control characters"
    if '"""' in text or "'''" in text:
        return "the text contains triple quotes"
    return ""


def text_lines(text: str, formatting: DocstringFormat, indent: str) -> list[str]:
    """Return the lines between the quotes. The first one is not indented.

    The others are wrapped beyond the line length, except for lines of code in examples. A
    description in a section continues below its first line, further indented.
    """
    first, *others = text.split("\n")
    return [first, *_indented([first, *others], formatting, indent)]


def _indented(lines: list[str], formatting: DocstringFormat, indent: str) -> Iterator[str]:
    sections = parse_docstring("\n".join(lines)).sections
    entries = {item.first for section in sections for item in section.items}
    for number, line in enumerate(lines[1:], 1):
        words = line.strip()
        margin = indent + line[: len(line) - len(line.lstrip())]
        if len(margin + words) <= formatting.width or words.startswith(_CODE):
            yield (margin + words).rstrip()
        else:
            step = formatting.step if number in entries else ""
            yield from wrapped(words, formatting.width, margin, step)
