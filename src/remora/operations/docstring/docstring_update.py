"""Update of an outdated docstring. Text that is still correct is kept."""

import re
from collections.abc import Iterator, Sequence

from remora.code.syntax.docstring_drift import DocstringDrift
from remora.code.syntax.docstring_sections import indent_of
from remora.operations.docstring.layout import item_lines
from remora.operations.docstring.parse import parse_docstring
from remora.operations.docstring.parts import (
    Describable,
    DocstringFormat,
    DocstringTexts,
    Item,
    Kind,
    Parameter,
    ParsedDocstring,
    Section,
    Style,
)

_Edit = tuple[int, int, list[str]]
"""First line, end line (exclusive), and the replacement."""


def updated_lines(
    inner: str,
    made_of: Describable,
    other: DocstringDrift,
    texts: DocstringTexts,
    manner: DocstringFormat,
) -> list[str]:
    """Return the lines between the quotes, without outdated parts and with new parts added."""
    read = parse_docstring(inner)
    renamed = {old: new for old, new in texts.renames.items() if old in other.unknown_parameters}
    lost = other.unknown_parameters - set(renamed)
    fresh = [name for name in other.undocumented_parameters if name not in renamed.values()]
    added = list(_places(read, made_of, fresh))
    homes = [section for _, section, _ in added]
    edits: list[_Edit] = []
    for section in read.sections:
        if section.kind in ("returns", "yields") and other.no_value:
            edits.append(_whole(read, section))
        elif section.kind == "parameters":
            edits += _thinned(read, section, lost, keep=section in homes)
            edits += _renamed(read, section, renamed)
        elif section.kind == "raises":
            edits += _thinned(
                read, section, other.never_raised, keep=bool(other.undocumented_exceptions)
            )
    for what, section, at in added:
        entry = what, texts.parameters.get(what.name, "")
        edits.append((at, at, _like(read, section, "parameters", entry, manner)))
    edits += _added_raises(read, sorted(other.undocumented_exceptions), texts, manner)
    return _tidy(_applied(list(read.lines), edits), _blank_at_end(read.lines))


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


def _thinned(
    read: ParsedDocstring, section: Section, removed: frozenset[str], *, keep: bool
) -> Iterator[_Edit]:
    """Yield the edits that delete the removed parts.

    If the section would be empty, the whole section is deleted unless `keep` is true.
    """
    hit = [item for item in section.items if removed.intersection(item.names)]
    if hit and not keep and all(removed.issuperset(item.names) for item in section.items):
        yield _whole(read, section)
        return
    for item in hit:
        if removed.issuperset(item.names):
            yield item.first, _end(section, item), []
        else:
            kept = [name for name in item.names if name not in removed]
            yield item.first, item.first + 1, [_with_names(read.lines[item.first], kept)]


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


def _renamed(read: ParsedDocstring, section: Section, names: dict[str, str]) -> Iterator[_Edit]:
    for item in section.items:
        line = read.lines[item.first]
        for old, new in names.items():
            if old in item.names:
                line = re.sub(rf"\b{re.escape(old)}\b", new, line, count=1)
        if line != read.lines[item.first]:
            yield item.first, item.first + 1, [line]


def _places(
    read: ParsedDocstring, made_of: Describable, fresh: Sequence[str]
) -> Iterator[tuple[Parameter, Section, int]]:
    """Yield each new parameter with its section and the number of the line to insert it before."""
    sections = [each for each in read.sections if each.kind == "parameters"]
    listed = [(each, item) for each in sections for item in each.items if item.names]
    order = [each.name for each in made_of.parameters]
    for what in made_of.parameters:
        if what.name in fresh and listed:
            before = set(order[: order.index(what.name)])
            above = [pair for pair in listed if before.intersection(pair[1].names)]
            section, item = above[-1] if above else listed[0]
            yield what, section, item.last + 1 if above else item.first


def _added_raises(
    read: ParsedDocstring, names: Sequence[str], texts: DocstringTexts, manner: DocstringFormat
) -> Iterator[_Edit]:
    sections = [each for each in read.sections if each.kind == "raises"]
    for name in names if sections else ():
        entry = Parameter(name), texts.raises.get(name, "")
        at = sections[-1].last + 1
        yield at, at, _like(read, sections[-1], "raises", entry, manner)


def _like(
    read: ParsedDocstring,
    section: Section,
    kind: Kind,
    entry: tuple[Parameter, str],
    manner: DocstringFormat,
) -> list[str]:
    """Return the lines of a new item in the style of the section.

    The item has the same indentation, type notation and blank lines as the existing items.
    """
    style: Style = read.style or manner.style
    sample = read.lines[section.items[0].first]
    margin = sample[: indent_of(sample)]
    what, text = entry
    own = DocstringFormat(style=style, width=manner.width)
    lines = item_lines(kind, (what, text), own, margin)
    if style == "google" and kind == "parameters" and re.match(r"\s*\*{0,2}\w+ ?\(", sample):
        typed = Parameter(
            f"{what.name} ({what.annotation})" if what.annotation else what.name, what.kind
        )
        lines = item_lines(kind, (typed, text), own, margin)
    spaced = len(section.items) > 1 and section.items[1].first > section.items[0].last + 1
    return ["", *lines] if spaced else lines


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
