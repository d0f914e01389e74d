"""Layout of docstrings in Google, NumPy or reST style."""

import textwrap
from collections.abc import Mapping

from remora.code.syntax.docstring_sections import (
    Kind,
    Style,
)

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


def section_title(kind: Kind, style: Style) -> str:
    """Return how a section begins: its title, or its field in reST."""
    google, numpy = _TITLES[kind]
    return f":{_FIELDS[kind]}:" if style == "rest" else google if style == "google" else numpy


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
