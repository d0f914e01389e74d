"""Layout of docstrings in Google, NumPy or reST style."""

import textwrap
from collections.abc import Mapping

from remora.code.syntax.docstring_sections import (
    Kind,
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
