"""Layout of docstrings in Google, NumPy or reST style."""

import re
import textwrap
from collections.abc import Mapping

from remora.code.syntax.docstring_sections import (
    UNDERLINE,
    Kind,
    ParsedDocstring,
    Section,
    Style,
)
from remora.operations.docstring.parts import DocstringFormat, Parameter

_TITLES: Mapping[Kind, tuple[str, str]] = {
    "parameters": ("Args", "Parameters"),
    "returns": ("Returns", "Returns"),
    "raises": ("Raises", "Raises"),
}
_FIELDS: Mapping[Kind, str] = {
    "parameters": "param",
    "returns": "returns",
    "raises": "raises",
}
Entry = tuple[Parameter, str]
"""A part and its description."""
_OTHER_BLOCK = re.compile(
    r"\s*(?:>>>|\.\. |[A-Z][A-Za-z ]+:\s*$|-{3,}\s*$|:\w+[^:]*:(?:\s|$))|.*::\s*$"
)
_NEXT_BLOCK = re.compile(r"\s*(?:\.\. |[A-Z][A-Za-z ]+:\s*$|:\w+[^:]*:(?:\s|$))")


def section_title(kind: Kind, style: Style) -> str:
    """Return how a section begins: its title, or its field in reST."""
    google, numpy = _TITLES[kind]
    return f":{_FIELDS[kind]}:" if style == "rest" else google if style == "google" else numpy


def item_lines(entry: Entry, formatting: DocstringFormat, margin: str) -> list[str]:
    """Return the lines of an entry for a parameter, indented by `margin`."""
    what, text = entry
    name = what.kind.replace("*", "\\*" if formatting.style == "rest" else "*") + what.name
    if formatting.style == "numpy":
        optional = ", optional" if what.default is not None else ""
        head = f"{name} : {what.annotation}{optional}" if what.annotation else name
        return [margin + head, *wrapped(text, formatting.width, margin + formatting.step)]
    head = f":param {name}:" if formatting.style == "rest" else f"{name}:"
    return wrapped(f"{head} {text}".rstrip(), formatting.width, margin, formatting.step)


def wrapped(text: str, width: int, first: str, deeper: str = "") -> list[str]:
    if not text:
        return []
    room = max(width, len(first.expandtabs()) + 32)
    return textwrap.wrap(
        text,
        room,
        initial_indent=first,
        subsequent_indent=first + deeper,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )


def has_room_for_raises(read: ParsedDocstring) -> bool:
    """Return True if a section of exceptions can be added after the existing text.

    A docstring with examples, notes or other blocks has no obvious place, unless it already has
    sections that come before the new one, and only other blocks follow them.
    """
    if any(section.kind == "raises" for section in read.sections):
        return False
    known = _before(read)
    if not known:
        return not any(_OTHER_BLOCK.match(line) for line in read.lines)
    following = _following(read, max(section.last for section in known))
    is_title = len(following) > 1 and UNDERLINE.fullmatch(following[1].expandtabs()) is not None
    return not following or is_title or _NEXT_BLOCK.match(following[0]) is not None


def _following(read: ParsedDocstring, last: int) -> list[str]:
    """Return the lines after a line that are not blank."""
    return [line for line in read.lines[last + 1 :] if line.strip()]


def _before(read: ParsedDocstring) -> list[Section]:
    return [each for each in read.sections if each.kind != "attributes"]
