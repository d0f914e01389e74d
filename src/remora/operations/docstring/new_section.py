"""Place and lines of a section that is added to an existing docstring."""

import re
from collections.abc import Sequence

from remora.code.syntax.docstring_sections import UNDERLINE, indent_of
from remora.operations.docstring.layout import Entry, section_lines
from remora.operations.docstring.parts import DocstringFormat, Kind, ParsedDocstring, Section

_OTHER_BLOCK = re.compile(
    r"\s*(?:>>>|\.\. |[A-Z][A-Za-z ]+:\s*$|-{3,}\s*$|:\w+[^:]*:(?:\s|$))|.*::\s*$"
)
EXAMPLES = re.compile(r"\s*Examples?:\s*$")
"""The title of a block of examples in Google style."""
_NEXT_BLOCK = re.compile(r"\s*(?:\.\. |[A-Z][A-Za-z ]+:\s*$|:\w+[^:]*:(?:\s|$))")


def has_room(read: ParsedDocstring, kind: Kind) -> bool:
    """Return True if a section of this kind can be added after the existing text.

    A docstring with examples, notes or other blocks has no obvious place, unless it already has
    sections that come before the new one, and only other blocks follow them.
    """
    if any(section.kind == kind for section in read.sections):
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


def new_section(
    read: ParsedDocstring,
    kind: Kind,
    entries: Sequence[Entry],
    formatting: DocstringFormat,
    margin: str,
) -> tuple[int, int, list[str]]:
    """Return the first line, the end line (exclusive) and the lines that replace them.

    `margin` is the indentation of the docstring.
    """
    known = _before(read)
    made = list(section_lines(kind, entries, formatting, margin))
    examples = _end_of_examples(read) if kind == "raises" and formatting.raises_last else None
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
