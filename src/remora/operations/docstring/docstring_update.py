"""Update of an outdated docstring. Text that is still correct is kept."""

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from remora.code.syntax.docstring_sections import (
    Item,
    ParsedDocstring,
    Section,
    Style,
    indent_of,
    parse_docstring,
)
from remora.operations.docstring.layout import item_lines
from remora.operations.docstring.mend import Mend
from remora.operations.docstring.parts import Describable, DocstringFormat, Parameter

_Edit = tuple[int, int, list[str]]
"""First line, end line (exclusive), and the replacement."""


def updated_lines(
    inner: str, describable: Describable, mend: Mend, formatting: DocstringFormat
) -> list[str]:
    """Return the lines between the quotes with all changes of `mend`."""
    read = parse_docstring(inner)
    added = list(_places(read, describable, mend.parameters))
    extended = [section for _, section, _ in added]
    edits: list[_Edit] = []
    for section in read.sections:
        if section.kind == "parameters":
            edits += _without_entries(read, section, mend.removed, keep=section in extended)
    edits += [(line, line + 1, [text]) for line, text in _replaced(read, mend).items()]
    for what, section, at in added:
        entry = what, mend.parameters[what.name]
        edits.append((at, at, _like(read, section, entry, formatting)))
    return _tidy(_applied(list(read.lines), edits), _blank_at_end(read.lines))


def _replaced(read: ParsedDocstring, mend: Mend) -> dict[int, str]:
    """Return the new text of each line on which a word is replaced."""
    found: dict[int, str] = {}
    items = (item for each in read.sections if each.kind == "parameters" for item in each.items)
    for item in items:
        for old, new in mend.renames.items():
            if old in item.names:
                line = found.get(item.first, read.lines[item.first])
                found[item.first] = _renamed(line, old, new)
    for old, new in mend.renames.items():
        for number, line in enumerate(read.lines):
            if f"`{old}`" in line:
                found[number] = found.get(number, line).replace(f"`{old}`", f"`{new}`")
    for number, old, new in mend.replaced:
        line = found.get(number, read.lines[number])
        at = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", line)
        found[number] = f"{line[: at.start()]}{new}{line[at.end() :]}" if at else line
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
    read: ParsedDocstring, section: Section, removed: frozenset[str], *, keep: bool
) -> Iterator[_Edit]:
    """Yield the edits that delete the removed parts.

    If the section would be empty, the whole section is deleted unless `keep` is true.
    """
    affected = [item for item in section.items if removed.intersection(item.names)]
    if affected and not keep and all(removed.issuperset(item.names) for item in section.items):
        yield _whole(read, section)
        return
    for item in affected:
        if removed.issuperset(item.names):
            yield _start(read, section, item), _end(section, item), []
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


def _end(section: Section, item: Item) -> int:
    """Return the first line of the next item, or the line after this item if it is the last."""
    following = [other.first for other in section.items if other.first > item.first]
    return min(following, default=item.last + 1)


def _with_names(line: str, kept: Sequence[str]) -> str:
    head, colon, rest = line.partition(":")
    margin = head[: len(head) - len(head.lstrip())]
    named = [part.strip() for part in head.split(",")]
    left = [part for part in named if any(re.search(rf"\b{name}\b", part) for name in kept)]
    space = head[len(head.rstrip()) :]
    return f"{margin}{', '.join(left)}{space}{colon}{rest}"


def _places(
    read: ParsedDocstring, describable: Describable, fresh: Collection[str]
) -> Iterator[tuple[Parameter, Section, int]]:
    """Yield each new parameter with its section and the number of the line to insert it before."""
    sections = [each for each in read.sections if each.kind == "parameters"]
    listed = [(each, item) for each in sections for item in each.items if item.names]
    order = [each.name for each in describable.parameters]
    for what in describable.parameters:
        if what.name in fresh and listed:
            before = set(order[: order.index(what.name)])
            above = [pair for pair in listed if before.intersection(pair[1].names)]
            section, item = above[-1] if above else listed[0]
            yield what, section, item.last + 1 if above else item.first


def _like(
    read: ParsedDocstring,
    section: Section,
    entry: tuple[Parameter, str],
    formatting: DocstringFormat,
) -> list[str]:
    """Return the lines of a new parameter in the style of the section.

    The item has the same indentation, type notation, full stop and blank lines as the existing
    items.
    """
    style: Style = read.style or formatting.style
    sample = read.lines[section.items[0].first]
    margin = sample[: indent_of(sample)]
    what, text = entry
    ends = {read.lines[each.last].rstrip()[-1:] for each in section.items}
    if ". " not in text and "." not in ends:
        text = text.removesuffix(".")
    elif ends == {"."} and text[-1:].isalnum():
        text += "."
    if style == "numpy" and not re.match(r"\s*\*{0,2}\w+\s*:", sample):
        what = replace(what, annotation="")
    own = DocstringFormat(style=style, width=formatting.width, step=_step(read, section))
    lines = item_lines((what, text), own, margin)
    if style == "google" and re.match(r"\s*\*{0,2}\w+ ?\(", sample):
        typed = Parameter(
            f"{what.name} ({what.annotation})" if what.annotation else what.name, what.kind
        )
        lines = item_lines((typed, text), own, margin)
    if style == "rest":  # fields may be spelled `:arg NAME:`
        field = re.match(r"\s*(:\w+)", sample)
        lines[0] = re.sub(r":\w+", field[1], lines[0], count=1) if field else lines[0]
        if what.annotation and re.match(r"\s*:param [\w.\[\], |]+ \w+:", sample):
            lines[0] = lines[0].replace(":param ", f":param {what.annotation} ", 1)
    spaced = len(section.items) > 1 and section.items[1].first > section.items[0].last + 1
    return ["", *lines] if spaced else lines


def _step(read: ParsedDocstring, section: Section) -> str:
    """Return how far the descriptions of a section's entries are indented below their names."""
    for item in section.items:
        margin = indent_of(read.lines[item.first])
        for line in read.lines[item.first + 1 : item.last + 1]:
            if line.strip() and indent_of(line) > margin:
                return line[margin : indent_of(line)]
    return DocstringFormat().step


def _applied(lines: list[str], edits: Sequence[_Edit]) -> list[str]:
    """Apply the edits from the last line to the first, and return the lines.

    At the same position, deletions come first. Insertions are applied in reverse, so that the
    result has the given order.
    """

    def order(pair: tuple[int, _Edit]) -> tuple[int, bool, int]:
        number, (first, end, _) = pair
        return first, end > first, number

    for _, (first, end, new) in sorted(enumerate(edits), key=order, reverse=True):
        lines[first:end] = new
    return lines


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
