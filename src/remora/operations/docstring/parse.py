"""Docstring parser, which finds sections and items with their line numbers."""

import re
from collections.abc import Iterator, Sequence

from remora.code.syntax.docstring_sections import (
    FIELDS,
    GOOGLE_HEADER,
    GOOGLE_ITEM,
    NUMPY_ITEM,
    REST_FIELD,
    SECTIONS,
    UNDERLINE,
    bare_name,
    documented_exception,
    field_parameter,
    indent_of,
)
from remora.operations.docstring.parts import Item, Kind, ParsedDocstring, Section, Style

_ALL_SECTIONS: dict[str, Kind] = {**SECTIONS, "attributes": "attributes"}
_TYPES = {"type": "parameters", "rtype": "returns"}
_ROLE = re.compile(r"\s*:[a-z:]+:`[^`]+`")
_NAMED = ("parameters", "raises", "attributes")


def parse_docstring(text: str) -> ParsedDocstring:
    """Parse a docstring in every style, and return the result with the most sections."""
    lines = text.split("\n")
    found: dict[Style, list[Section]] = {
        "google": list(_google(lines)),
        "numpy": list(_numpy(lines)),
        "rest": list(_rest(lines)),
    }
    style = max(found, key=lambda each: len(found[each]))
    summary = next((line.strip() for line in lines if line.strip()), "")
    return ParsedDocstring(
        tuple(lines), summary, style if found[style] else None, tuple(found[style])
    )


def _google(lines: Sequence[str]) -> Iterator[Section]:
    for number, line in enumerate(lines):
        header = GOOGLE_HEADER.fullmatch(line.expandtabs())
        kind = _ALL_SECTIONS.get(header[2].lower()) if header else None
        if header is None or kind is None or (header[3] and kind in _NAMED):
            continue
        last = _deeper(lines, number, indent_of(line))
        if last > number or header[3]:
            yield _section(kind, number, last, number + 1, lines, GOOGLE_ITEM)


def _numpy(lines: Sequence[str]) -> Iterator[Section]:
    titles = [
        number
        for number, line in enumerate(lines)
        if number and UNDERLINE.fullmatch(line.expandtabs()) and lines[number - 1].strip()
    ]
    for number, below in zip(titles, [*titles[1:], len(lines) + 1], strict=False):
        kind = _ALL_SECTIONS.get(lines[number - 1].strip().lower())
        last = _filled(lines, number, below - 2)
        if kind is not None and last > number:
            yield _section(kind, number - 1, last, number + 1, lines, NUMPY_ITEM)


def _section(
    kind: Kind, first: int, last: int, body: int, lines: Sequence[str], pattern: object
) -> Section:
    starts = [n for n in range(body, last + 1) if lines[n].strip()]
    margin = indent_of(lines[starts[0]]) if starts else 0
    if kind not in _NAMED:
        text = _joined(lines[body : last + 1])
        return Section(kind, first, last, (Item((), body, last, text),))
    at = [n for n in starts if indent_of(lines[n]) == margin]
    ends = [_filled(lines, n, below - 1) for n, below in zip(at, [*at[1:], last + 1], strict=False)]
    spans = zip(at, ends, strict=True)
    return Section(kind, first, last, tuple(_item(kind, lines, *span, pattern) for span in spans))


def _item(kind: Kind, lines: Sequence[str], first: int, last: int, pattern: object) -> Item:
    line = lines[first]
    if kind == "raises":
        raised = documented_exception(line)
        names: tuple[str, ...] = (raised,) if raised else ()
    else:
        found = pattern.fullmatch(line.expandtabs())  # type: ignore[attr-defined]
        names = tuple(filter(None, map(bare_name, found[1].split(",")))) if found else ()
    same_line = [] if pattern is NUMPY_ITEM else [_after_name(line)]
    return Item(names, first, last, _joined([*same_line, *lines[first + 1 : last + 1]]))


def _after_name(line: str) -> str:
    role = _ROLE.match(line)
    return line[role.end() :].lstrip(": ") if role else line.partition(":")[2]


def _rest(lines: Sequence[str]) -> Iterator[Section]:
    for number, line in enumerate(lines):
        field = REST_FIELD.fullmatch(line.expandtabs())
        kind = FIELDS.get(field[1]) or _TYPES.get(field[1]) if field else None
        if field is None or kind is None:
            continue
        last = _deeper(lines, number, indent_of(line), blank=False)
        names: tuple[str, ...] = ()
        if kind == "parameters" and field[2].strip():
            names = tuple(filter(None, [field_parameter(field[2])]))
        elif kind == "raises":
            names = tuple(filter(None, map(documented_exception, field[2].split(","))))
        same_line = "" if field[1] in _TYPES else (field[3] or "")
        text = _joined([same_line, *lines[number + 1 : last + 1]])
        yield Section(kind, number, last, (Item(names, number, last, text),))  # type: ignore[arg-type]


def _deeper(lines: Sequence[str], number: int, margin: int, *, blank: bool = True) -> int:
    """Return the index of the last line of the block that is indented more than `margin`.

    The block starts after line `number`. If `blank` is false, the block ends at the first blank
    line.
    """
    last = number
    for index in range(number + 1, len(lines)):
        if not lines[index].strip():
            if blank:
                continue
            break
        if indent_of(lines[index]) <= margin:
            break
        last = index
    return last


def _filled(lines: Sequence[str], first: int, last: int) -> int:
    """Return the index of the last non-blank line from `first` to `last`."""
    while last > first and not lines[last].strip():
        last -= 1
    return last


def _joined(lines: Sequence[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
