"""Layout of docstrings in Google, NumPy or reST style, and the place of a new section."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from remora.code.syntax.docstring_sections import (
    UNDERLINE,
    Kind,
    ParsedDocstring,
    Section,
    Style,
    indent_of,
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
EXAMPLES = re.compile(r"\s*Examples?:\s*$")
"""The title of a block of examples in Google style."""
_NEXT_BLOCK = re.compile(r"\s*(?:\.\. |[A-Z][A-Za-z ]+:\s*$|:\w+[^:]*:(?:\s|$))")


def section_title(kind: Kind, style: Style) -> str:
    """Return how a section begins: its title, or its field in reST."""
    google, numpy = _TITLES[kind]
    return f":{_FIELDS[kind]}:" if style == "rest" else google if style == "google" else numpy


def section_lines(
    kind: Kind, entries: Sequence[Entry], formatting: DocstringFormat, indent: str
) -> Iterator[str]:
    """Yield the lines of a section, with its title. All lines are indented."""
    google, numpy = _TITLES[kind]
    if formatting.style == "rest":
        for entry in entries:
            yield from item_lines(kind, entry, formatting, indent)
        return
    if formatting.style == "numpy":
        yield from (indent + numpy, indent + "-" * len(numpy))
        inner = indent
    else:
        yield f"{indent}{google}:"
        inner = indent + formatting.step
    for entry in entries:
        yield from item_lines(kind, entry, formatting, inner)


def item_lines(kind: Kind, entry: Entry, formatting: DocstringFormat, margin: str) -> list[str]:
    """Return the lines of one section entry, indented by `margin`."""
    what, text = entry
    name = what.kind.replace("*", "\\*" if formatting.style == "rest" else "*") + what.name
    if formatting.style == "numpy":
        head = _numpy_head(kind, what, name)
        head = formatting.raise_name.format(head) if kind == "raises" else head
        return [margin + head, *wrapped(text, formatting.width, margin + formatting.step)]
    if formatting.style == "rest":
        field = formatting.raises if kind == "raises" else _FIELDS[kind]
        return wrapped(
            f":{field} {name}: {text}".rstrip(), formatting.width, margin, formatting.step
        )
    if kind == "raises":
        name = formatting.raise_name.format(name)
        if formatting.raise_below:
            return [margin + name, *wrapped(text, formatting.width, margin + formatting.step)]
    return wrapped(f"{name}: {text}".rstrip(), formatting.width, margin, formatting.step)


def _numpy_head(kind: Kind, what: Parameter, name: str) -> str:
    if kind != "parameters":
        return name
    optional = ", optional" if what.default is not None and what.annotation else ""
    return f"{name} : {what.annotation}{optional}" if what.annotation else name


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


def new_raises_section(
    read: ParsedDocstring,
    entries: Sequence[Entry],
    formatting: DocstringFormat,
    margin: str,
) -> tuple[int, int, list[str]]:
    """Return the first line, the end line (exclusive) and the lines that replace them.

    `margin` is the indentation of the docstring.
    """
    known = _before(read)
    made = list(section_lines("raises", entries, formatting, margin))
    examples = _end_of_examples(read) if formatting.raises_last else None
    if examples is not None:
        last, spaced = examples, True
    elif known:
        last = max(section.last for section in known)
        spaced = formatting.style != "rest" or _are_spaced(read, known)
    else:
        last = max(n for n, line in enumerate(read.lines) if line.strip())
        spaced = True
    lines = ["", *made] if spaced else made
    if last == len(read.lines) - 1:
        lines = [*lines, margin]  # the closing quotes get their own line
    return last + 1, last + 1, lines


def _end_of_examples(read: ParsedDocstring) -> int | None:
    """Return the last line of the examples, or None if there are none."""
    found = [n for n, line in enumerate(read.lines) if EXAMPLES.match(line)]
    if not found:
        return None
    first = found[0]
    last = first
    for number, line in enumerate(read.lines[first + 1 :], first + 1):
        if line.strip() and indent_of(line) <= indent_of(read.lines[first]):
            break
        last = number if line.strip() else last
    return last


def _are_spaced(read: ParsedDocstring, known: Sequence[Section]) -> bool:
    """Return True if there are blank lines between fields."""
    first = min(known, key=lambda section: section.first).first
    fields = [n for n, line in enumerate(read.lines) if n > first and _NEXT_BLOCK.match(line)]
    return bool(fields) and not any(read.lines[number - 1].strip() for number in fields)


def _before(read: ParsedDocstring) -> list[Section]:
    return [each for each in read.sections if each.kind != "attributes"]
