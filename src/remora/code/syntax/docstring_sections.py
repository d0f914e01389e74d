"""Parser of docstring sections in Google, NumPy and reST style."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import Literal, NamedTuple

SectionKind = Literal["parameters", "returns", "yields", "raises"]
_LISTS = ("args", "arguments", "params", "parameters", "other parameters")
_KEYWORDS = ("keyword args", "keyword arguments")
_KINDS: tuple[SectionKind, ...] = ("parameters", "returns", "yields", "raises")
SECTIONS: dict[str, SectionKind] = {
    **dict.fromkeys((*_LISTS, *_KEYWORDS), "parameters"),
    **dict.fromkeys(("return", "returns"), "returns"),
    **dict.fromkeys(("yield", "yields"), "yields"),
    "raises": "raises",
}
FIELDS: dict[str, SectionKind] = {
    **dict.fromkeys(("param", "parameter", "arg", "argument"), "parameters"),
    **dict.fromkeys(("return", "returns"), "returns"),
    **dict.fromkeys(("yield", "yields"), "yields"),
    **dict.fromkeys(("raise", "raises", "except", "exception"), "raises"),
}
# quick check before reading line by line
_ANY_SECTION = re.compile(
    r"Args:|Arguments:|Params:|Parameters|Keyword A|Returns|Return:|Raises|Yields|Yield:"
    r"|:param|:arg|:return|:yield|:raise|:exc"
)
# starts of sections and fields, in their first line or in the underline below it
_SECTION_START = re.compile(
    r"Args:|Arguments:|Params:|Parameters:|Returns?:|Raises:|Yields?:"
    r"|:param|:arg|:return|:yield|:raise|:exc|---+"
)
GOOGLE_HEADER = re.compile(r"( *)([A-Z][a-z]+(?: [A-Z][a-z]+)?):(?: +(.*))?")
UNDERLINE = re.compile(r" *-{3,} *")
REST_FIELD = re.compile(r" *:([a-z]+)\b([^:]*):(?: +(.*)|$)")

_NAME = r"[`'\"]*(?:\\?\*){0,2}\w+[`'\"]*"
_NAMES = rf"({_NAME}(?: *, *{_NAME})*)"
GOOGLE_ITEM = re.compile(rf" *{_NAMES} *(?:\(.*\)?)? *:(?: .*)?")
NUMPY_ITEM = re.compile(rf" *{_NAMES} *(?::.*)?")
_RAISED = re.compile(r"[ `~:]*(?:(?:py:)?(?:exc|class):)?[`~]*([\w.]+)`? *(?::.*)?")
_FIELD_PARAMETER = re.compile(r"(?:.*[\s\])])?[`'\"*]*(\w+)[`'\"]*(?:\s*\(.*\))?\s*")
_WORD = re.compile(r"\w+")
_NOTHING = re.compile(r"[ `*:]*(?:None|Nothing|nothing)\b")


class DocumentedItems(NamedTuple):
    """The items that a docstring documents.

    `parameters` and `raises` are None if the list is missing or ambiguous.
    """

    parameters: frozenset[str] | None
    raises: frozenset[str] | None
    returns: bool
    yields: bool


_Entry = tuple[SectionKind, str | None]
"""A section kind and one of its items. The item is None if it cannot be parsed."""


def parse_documented_items(docstring: str) -> DocumentedItems | None:
    if "\n" not in docstring and ":" not in docstring:
        return None
    if _ANY_SECTION.search(docstring) is None:
        return None
    found: dict[SectionKind, set[str | None]] = {kind: set() for kind in _KINDS}
    for kind, text in _entries(docstring.expandtabs().splitlines()):
        found[kind].add(text)
    return DocumentedItems(
        parameters=_names(found["parameters"]),
        raises=_names(found["raises"]),
        returns=_is_documented(found["returns"]),
        yields=_is_documented(found["yields"]),
    )


def _names(texts: set[str | None]) -> frozenset[str] | None:
    names = frozenset(text for text in texts if text)
    return names if len(names) == len(texts) and names else None


def _is_documented(texts: set[str | None]) -> bool:
    return any(text and not _NOTHING.match(text) for text in texts)


def _entries(lines: Sequence[str]) -> Iterator[_Entry]:
    underlines = []
    for number, mark in _section_starts("\n".join(lines)):
        if mark == ":":
            yield from _rest_entries(lines[number])
        elif mark != "-":
            yield from _google_entries(lines, number)
        elif UNDERLINE.fullmatch(lines[number]):
            underlines.append(number)
    for number, next_number in zip_longest(underlines, underlines[1:]):
        if number:
            yield from _numpy_entries(
                lines[number - 1 : next_number and max(number + 1, next_number - 1)]
            )


def _section_starts(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, first matched character) for each line that may start a section
    or field.
    """
    number = start = 0
    for mark in _SECTION_START.finditer(text):
        number += text.count("\n", start, mark.start())
        start = mark.start()
        yield number, text[start]


def _rest_entries(line: str) -> Iterator[_Entry]:
    field = REST_FIELD.fullmatch(line)
    kind = FIELDS.get(field[1]) if field else None
    if field is None or kind is None:
        return
    if kind in ("returns", "yields"):
        yield (kind, field[3])
    elif kind == "parameters":
        yield (kind, field_parameter(field[2]))
    else:
        for name in field[2].split(","):
            yield (kind, documented_exception(name))


def _google_entries(lines: Sequence[str], number: int) -> Iterator[_Entry]:
    header = GOOGLE_HEADER.fullmatch(lines[number])
    kind = SECTIONS.get(header[2].lower()) if header else None
    if header is None or kind is None:
        return
    block = _indented_lines(lines[number + 1 :], len(header[1]))
    if kind in ("returns", "yields"):
        yield (kind, header[3] or next(block, None))
    elif not header[3]:
        yield from _list_items(kind, block, GOOGLE_ITEM)


def _numpy_entries(lines: Sequence[str]) -> Iterator[_Entry]:
    """Parse a NumPy section. `lines` are its title, its underline and all lines up to the next
    title.
    """
    if (kind := SECTIONS.get(lines[0].strip().lower())) is None:
        return
    block = filter(str.strip, lines[2:])
    if kind in ("returns", "yields"):
        yield (kind, next(block, None))
    else:
        yield from _list_items(kind, block, NUMPY_ITEM)


def _indented_lines(lines: Sequence[str], margin: int) -> Iterator[str]:
    """Yield non-blank lines as long as they are indented deeper than `margin`."""
    deeper = " " * (margin + 1)
    for line in lines:
        if line.strip():
            if not line.startswith(deeper) and indent_of(line) <= margin:
                return
            yield line


def _list_items(kind: SectionKind, block: Iterator[str], item: re.Pattern[str]) -> Iterator[_Entry]:
    """Yield the items at the margin of a block. Lines with a deeper indent are descriptions."""
    first = next(block, "")
    margin = indent_of(first)
    deeper = " " * (margin + 1)
    for line in chain([first] if first else [], block):
        if line.startswith(deeper) or (indent := indent_of(line)) > margin:
            continue
        if kind == "raises":
            yield (kind, documented_exception(line) if indent == margin else None)
            continue
        names = item.fullmatch(line) if indent == margin else None
        if names is None:
            yield (kind, None)
        else:
            yield from ((kind, bare_name(name)) for name in names[1].split(","))


def field_parameter(text: str) -> str | None:
    """Return the name in `name`, `type name` or `name (type)`.

    Return None if there is no valid name, as in `:param item<n>:`.
    """
    found = _FIELD_PARAMETER.fullmatch(text.replace("\\", ""))
    return found[1] if found else None


def bare_name(name: str) -> str | None:
    """Return `name` for `**name` and `` `name` ``."""
    found = _WORD.search(name)
    return found[0] if found else None


def documented_exception(text: str) -> str | None:
    """Return `Error` for `package.Error: if …`."""
    found = _RAISED.fullmatch(text)
    return found[1].rpartition(".")[2] if found else None


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())
