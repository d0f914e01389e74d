"""Place and lines of a section that is added to an existing docstring."""

import re
from collections.abc import Sequence

from remora.operations.docstring.layout import Entry, section_lines
from remora.operations.docstring.parts import DocstringFormat, Kind, ParsedDocstring, Section

_OTHER_BLOCK = re.compile(r"\s*(?:>>>|\.\. |[A-Z][A-Za-z ]+:\s*$|-{3,}\s*$|:\w+[^:]*:)|.*::\s*$")


def has_room(read: ParsedDocstring, kind: Kind) -> bool:
    """Return True if a section of this kind can be added after the existing text.

    A docstring with examples, notes or other blocks has no obvious place, unless it already has
    sections that come before the new one.
    """
    if any(section.kind == kind for section in read.sections):
        return False
    return bool(_before(read)) or not any(_OTHER_BLOCK.match(line) for line in read.lines)


def new_section(
    read: ParsedDocstring,
    kind: Kind,
    entries: Sequence[Entry],
    manner: DocstringFormat,
    margin: str,
) -> tuple[int, int, list[str]]:
    """Return the first line, the end line (exclusive) and the lines that replace them.

    `margin` is the indentation of the docstring.
    """
    known = _before(read)
    made = list(section_lines(kind, entries, manner, margin))
    if known:
        last = max(section.last for section in known)
        spaced = manner.style != "rest"
    else:
        last = max(n for n, line in enumerate(read.lines) if line.strip())
        spaced = True
    lines = ["", *made] if spaced else made
    if last == len(read.lines) - 1:
        lines = [*lines, margin]  # the closing quotes get their own line
    return last + 1, last + 1, lines


def _before(read: ParsedDocstring) -> list[Section]:
    return [each for each in read.sections if each.kind != "attributes"]
