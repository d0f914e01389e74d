"""Update of an outdated docstring. Text that is still correct is kept."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from remora.code.docstrings.docstring_sections import (
    QUOTED,
    Item,
    ParsedDocstring,
    Section,
    parse_docstring,
)
from remora.operations.docstring.mend import Mend

_Edit = tuple[int, int, list[str]]
"""First line, end line (exclusive), and the replacement."""


def updated_lines(inner: str, mend: Mend) -> list[str]:
    """Return the lines between the quotes with all changes of `mend`."""
    read = parse_docstring(inner)
    edits: list[_Edit] = []
    for section in read.sections:
        if section.kind == "parameters":
            edits += _without_entries(read, section, mend.removed)
    edits += [(line, line + 1, [text]) for line, text in _replaced(read, mend.renames).items()]
    lines = list(read.lines)
    for first, end, new in sorted(edits, reverse=True):
        lines[first:end] = new
    return _tidy(lines, _blank_at_end(read.lines))


def _replaced(read: ParsedDocstring, renames: dict[str, str]) -> dict[int, str]:
    """Return the new text of each line on which a parameter is renamed."""
    found, quoted = dict[int, str](), read.quoted_words()
    items = (
        item for section in read.sections if section.kind == "parameters" for item in section.items
    )
    for item in items:
        for old in renames.keys() & set(item.names):
            line = found.get(item.first, read.lines[item.first])
            found[item.first] = _renamed(line, old, renames[old])
    for number in {place[0] for old in renames for place in quoted.get(old, ())}:
        line = found.get(number, read.lines[number])
        found[number] = QUOTED.sub(lambda word: f"`{renames.get(word[1], word[1])}", line)
    return found


def _renamed(line: str, old: str, new: str) -> str:
    """Replace the name of an entry, which may follow a field name and a type."""
    field = re.match(rf"(\s*:\w+\s[^:]*?)\b{re.escape(old)}\b(?=[^:\w]*:)", line)
    if field is not None:
        return f"{field[1]}{new}{line[field.end() :]}"
    return re.sub(rf"\b{re.escape(old)}\b", new, line, count=1)


def _whole(read: ParsedDocstring, section: Section) -> _Edit:
    """Return the edit that deletes a section and the blank lines before it.

    If there are no blank lines before the section, the blank lines after it are deleted.
    """
    first, last = section.first, section.last
    while first > 1 and not read.lines[first - 1].strip():
        first -= 1
    if first == section.first:
        while last + 1 < len(read.lines) - 1 and not read.lines[last + 1].strip():
            last += 1
    alone = read.style != "rest"
    return (first if alone else section.first, (last if alone else section.last) + 1, [])


def _without_entries(
    read: ParsedDocstring, section: Section, removed: frozenset[str]
) -> Iterator[_Edit]:
    """Yield the edits that delete the removed parts.

    If the section would be empty, the whole section is deleted.
    """
    affected = [item for item in section.items if removed.intersection(item.names)]
    if affected and all(removed.issuperset(item.names) for item in section.items):
        yield _whole(read, section)
        return
    below = dict(pairwise(section.items))
    for item in affected:
        if removed.issuperset(item.names):
            end = below[item].first if item in below else item.last + 1
            yield _start(read, section, item), end, []
        else:
            kept = [name for name in item.names if name not in removed]
            yield item.first, item.first + 1, [_with_names(read.lines[item.first], kept)]


def _start(read: ParsedDocstring, section: Section, item: Item) -> int:
    """Return the line of an item, or of the blank lines before it if it is the last item."""
    first = item.first
    if item.last == section.last:
        while first > section.first and not read.lines[first - 1].strip():
            first -= 1
    return first


def _with_names(line: str, kept: Sequence[str]) -> str:
    head, colon, rest = line.partition(":")
    margin = head[: len(head) - len(head.lstrip())]
    named = [part.strip() for part in head.split(",")]
    left = [part for part in named if any(re.search(rf"\b{name}\b", part) for name in kept)]
    space = head[len(head.rstrip()) :]
    return f"{margin}{', '.join(left)}{space}{colon}{rest}"


def _tidy(lines: list[str], had: int) -> list[str]:
    """Remove blank lines before the closing quotes until at most `had` are left."""
    while len(lines) > 2 and _blank_at_end(lines) > had:
        del lines[-2]
    return lines


def _blank_at_end(lines: Sequence[str]) -> int:
    """Return the number of blank lines before the closing quotes.

    Return 0 if the closing quotes are not on a separate line.
    """
    if len(lines) < 2 or lines[-1].strip():
        return 0
    filled = (at for at, line in enumerate(reversed(lines[:-1])) if line.strip())
    return next(filled, len(lines) - 1)
