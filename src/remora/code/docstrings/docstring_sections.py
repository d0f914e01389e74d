"""Parser of docstrings in Google, NumPy and reST style: sections and items with their lines."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

Style = Literal["google", "numpy", "rest"]
Kind = Literal["parameters", "returns", "yields", "raises", "attributes"]
_LISTS = ("args", "arguments", "params", "parameters", "other parameters")
_KEYWORDS = ("keyword args", "keyword arguments")
_SECTIONS: dict[str, Kind] = {
    **dict.fromkeys((*_LISTS, *_KEYWORDS), "parameters"),
    **dict.fromkeys(("return", "returns"), "returns"),
    **dict.fromkeys(("yield", "yields"), "yields"),
    "raises": "raises",
    "attributes": "attributes",
}
_FIELDS: dict[str, Kind] = {
    **dict.fromkeys(("param", "parameter", "arg", "argument", "type"), "parameters"),
    **dict.fromkeys(("return", "returns", "rtype"), "returns"),
    **dict.fromkeys(("yield", "yields"), "yields"),
    **dict.fromkeys(("raise", "raises", "except", "exception"), "raises"),
}
_OF_TYPES = ("type", "rtype")
_NAMED = ("parameters", "raises", "attributes")
_GOOGLE_HEADER = re.compile(r"( *)([A-Z][a-z]+(?: [A-Z][a-z]+)?):(?: +(.*))?")
UNDERLINE = re.compile(r" *-{3,} *")
_REST_FIELD = re.compile(r" *:([a-z]+)\b([^:]*):(?: +(.*)|$)")
_NAME = r"[`'\"]*(?:\\?\*){0,2}\w+[`'\"]*"
_NAMES = rf"({_NAME}(?: *, *{_NAME})*)"
_GOOGLE_ITEM = re.compile(rf" *{_NAMES} *(?:\(.*\)? *)?:(?: .*)?")
_CONTINUED = re.compile(r"\s*[a-z]+,? (?!-)")
"""The start of a line that continues the entry above, as in diff-cover, unlike `name - text`."""
_NUMPY_ITEM = re.compile(rf" *{_NAMES} *(?::.*)?")
_RAISED = re.compile(r"[ `~:]*(?:(?:py:)?(?:exc|class):)?[`~]*([\w.]+)`? *(?::.*)?")
_FIELD_PARAMETER = re.compile(r"(?:.*[\s\])])?[`'\"*]*(\w+)[`'\"]*(?:\s*\(.*\))?\s*")
_ROLE = re.compile(r"\s*:[a-z:]+:`[^`]+`")
_WORD = re.compile(r"\w+")
QUOTED = re.compile(r"`(\w+)(?=`)")


class Item(NamedTuple):
    """An entry of a section.

    `first` and `last` are its first and last line, counted from 0. `text` describes `names`.
    """

    names: tuple[str, ...]
    first: int
    last: int
    text: str = ""


class Section(NamedTuple):
    """A section of a docstring.

    The section, including its title, extends from line `first` to line `last`, counted from 0.
    """

    kind: Kind
    first: int
    last: int
    items: tuple[Item, ...] = ()


class ParsedDocstring(NamedTuple):
    """The lines of a docstring, its summary (the first non-blank line) and its known sections."""

    lines: tuple[str, ...]
    summary: str
    style: Style | None
    sections: tuple[Section, ...] = ()

    def quoted_words(self) -> dict[str, list[tuple[int, int, int]]]:
        """Return the line, start and end of each word in backticks."""
        places = defaultdict[str, list[tuple[int, int, int]]](list)
        for number, line in enumerate(self.lines):
            for word in QUOTED.finditer(line):
                places[word[1]].append((number, *word.span(1)))
        return places


def parse_docstring(text: str) -> ParsedDocstring:
    """Parse a docstring in every style, and return the result with the most sections."""
    lines = text.split("\n")
    found: dict[Style, list[Section]] = {
        "google": list(_google(lines)),
        "numpy": list(_numpy(lines)),
        "rest": list(_rest(lines)),
    }
    style = max(found, key=lambda name: len(found[name]))
    summary = next((line.strip() for line in lines if line.strip()), "")
    return ParsedDocstring(
        tuple(lines), summary, style if found[style] else None, tuple(found[style])
    )


def _google(lines: Sequence[str]) -> Iterator[Section]:
    for number, line in enumerate(lines):
        if ":" not in line:
            continue
        kind = _SECTIONS.get(line.partition(":")[0].strip().lower())  # faster than the pattern
        header = _GOOGLE_HEADER.fullmatch(line.expandtabs()) if kind else None
        if header is None or kind is None or (header[3] and kind in _NAMED):
            continue
        last = _deeper(lines, number, indent_of(line))
        if last > number or header[3]:
            yield _section(kind, number, last, number + 1, lines, _GOOGLE_ITEM)


def _numpy(lines: Sequence[str]) -> Iterator[Section]:
    titles = [
        number
        for number, line in enumerate(lines)
        if "---" in line
        and number
        and UNDERLINE.fullmatch(line.expandtabs())
        and lines[number - 1].strip()
    ]
    for number, below in zip(titles, [*titles[1:], len(lines) + 1], strict=False):
        kind = _SECTIONS.get(lines[number - 1].strip().lower())
        last = _filled(lines, number, below - 2)
        if kind is not None and last > number:
            yield _section(kind, number - 1, last, number + 1, lines, _NUMPY_ITEM)


def _section(
    kind: Kind, first: int, last: int, body: int, lines: Sequence[str], item: re.Pattern[str]
) -> Section:
    starts = [n for n in range(body, last + 1) if lines[n].strip()]
    margin = indent_of(lines[starts[0]]) if starts else 0
    if kind not in _NAMED:
        title = "" if item is _NUMPY_ITEM else lines[first].partition(":")[2]
        text = _joined([title, *lines[body : last + 1]])
        return Section(kind, first, last, (Item((), body, last, text),))
    at = [n for n in starts if indent_of(lines[n]) == margin]
    if item is _GOOGLE_ITEM:
        below = [n for n in at[1:] if lines[n - 1].strip() and _CONTINUED.match(lines[n])]
        at = [n for n in at if n not in below or item.fullmatch(lines[n].expandtabs())]
    ends = [_filled(lines, n, below - 1) for n, below in zip(at, [*at[1:], last + 1], strict=False)]
    spans = zip(at, ends, strict=True)
    return Section(kind, first, last, tuple(_item(kind, lines, *span, item) for span in spans))


def _item(kind: Kind, lines: Sequence[str], first: int, last: int, item: re.Pattern[str]) -> Item:
    line = lines[first]
    if kind == "raises":
        raised = _exception(line)
        names: tuple[str, ...] = (raised,) if raised else ()
    else:
        found = item.fullmatch(line.expandtabs())
        words = map(_WORD.search, found[1].split(",")) if found else ()
        names = tuple(word[0] for word in words if word)
    role = _ROLE.match(line)
    described = line[role.end() :].lstrip(": ") if role else line.partition(":")[2]
    same_line = [] if item is _NUMPY_ITEM else [described]
    return Item(names, first, last, _joined([*same_line, *lines[first + 1 : last + 1]]))


def _rest(lines: Sequence[str]) -> Iterator[Section]:
    for number, line in enumerate(lines):
        field = _REST_FIELD.fullmatch(line.expandtabs()) if line.lstrip()[:1] == ":" else None
        kind = _FIELDS.get(field[1]) if field else None
        if field is None or kind is None:
            continue
        last = _deeper(lines, number, indent_of(line), blank=False)
        names: list[str | None] = []
        if kind == "parameters":
            named = _FIELD_PARAMETER.fullmatch(field[2].replace("\\", ""))
            names = [named[1]] if named else []
        elif kind == "raises":
            names = [_exception(name) for name in field[2].split(",")]
        same_line = "" if field[1] in _OF_TYPES else (field[3] or "")
        text = _joined([same_line, *lines[number + 1 : last + 1]])
        yield Section(kind, number, last, (Item(tuple(filter(None, names)), number, last, text),))


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


def _exception(text: str) -> str | None:
    """Return `Error` for `package.Error: if …`."""
    found = _RAISED.fullmatch(text)
    return found[1].rpartition(".")[2] if found else None


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())
