"""A new entry of a docstring's list of parameters, laid out as its neighbors are."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from remora.code.syntax.docstring_sections import (
    Item,
    ParsedDocstring,
    Style,
    indent_of,
    parse_docstring,
)
from remora.errors import HostError
from remora.operations.docstring.given_text import wrapped
from remora.operations.docstring.parts import DocstringFormat

_HEAD = r"(?P<head>\s*[`'\"]*){name}(?P<mark>[`'\"]*)"
_LAYOUTS: Mapping[Style, str] = {
    "google": _HEAD + r"(?P<type>\s*\(.*?\))?(?P<colon>\s*:\s*)(?P<rest>.*)",
    "numpy": _HEAD + r"(?P<type>\s*:.*)?(?P<colon>)(?P<rest>)",
    "rest": r"(?P<head>\s*:\w+\s+)(?P<type>[\w.]+\s+)?{name}(?P<mark>)(?P<colon>\s*:\s*)(?P<rest>.*)",
}
_TYPES: Mapping[Style, str] = {"google": "{0} ({1})", "numpy": "{0} : {1}", "rest": "{1} {0}"}


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter that a docstring leaves out: what it is for, and its type if known.

    `order` has the names of all parameters, as the code has them.
    """

    name: str
    text: str
    annotation: str | None = None
    order: Sequence[str]


def lines_with(inner: str, entry: Entry, formatting: DocstringFormat) -> list[str]:
    """Return the lines between the quotes, with an entry after those of the parameters before it.

    Raises HostError if no other entry shows how to write it, or if anything else would change.
    """
    read = parse_docstring(inner)
    lines, items = list(read.lines), _described(read)
    is_before = {*entry.order[: entry.order.index(entry.name)]}
    above = [item for item in items if is_before.intersection(item.names)]
    names = [name for item in items for name in item.names]
    if len(names) > len({*names}):
        raise HostError("the docstring describes a parameter twice, which may be this one")
    model, layout = _model(read, [*reversed(above), *items])
    if model is None or layout is None:
        raise HostError(f"no other entry shows how to describe {entry.name}")
    if layout["type"] and not entry.annotation:
        raise HostError(f"the others have a type, and that of {entry.name} is not known")
    at = _below(read, above[-1]) if above else items[0].first
    gaps = [
        bool(b.first > a.last + 1 and not lines[a.last + 1].strip()) for a, b in pairwise(items)
    ]
    gap = [""] if gaps and all(gaps) else []
    new = list(_entry_lines(read, model, layout, entry, formatting))
    if "\\" in "".join(new) or not _is_free(read, at, indent_of(lines[model.first])):
        raise HostError(f"there is no room for an entry of {entry.name}")
    lines[at:at] = [*gap, *new] if above else [*new, *gap]
    before, now = (
        Counter((item.names, item.text) for item in _items(parsed))
        for parsed in (read, parse_docstring("\n".join(lines)))
    )
    if before - now or {names for names, _ in now - before} != {(entry.name,)}:
        raise HostError(f"an entry of {entry.name} would change others")
    return lines


def _items(read: ParsedDocstring) -> list[Item]:
    return [item for part in read.sections for item in part.items]


def _described(read: ParsedDocstring) -> list[Item]:
    """Return the entries of parameters that have a text."""
    parts = (part for part in read.sections if part.kind == "parameters")
    return [item for part in parts for item in part.items if item.names and item.text]


def _model(
    read: ParsedDocstring, items: Sequence[Item]
) -> tuple[Item, re.Match[str]] | tuple[None, None]:
    """Return the first entry of a layout that is known, and its parts."""
    for item in items if read.style else ():
        pattern = _LAYOUTS[read.style or "google"].replace("{name}", re.escape(item.names[0]))
        layout = re.fullmatch(pattern, read.lines[item.first])
        if layout is not None and len(item.names) == 1:
            return item, layout
    return None, None


def _below(read: ParsedDocstring, item: Item) -> int:
    """Return the line below an entry, and below the reST field of its type if that is next."""
    types = (other for other in _items(read) if other.names == item.names and not other.text)
    return 1 + next((other.last for other in types if other.first == item.last + 1), item.last)


def _is_free(read: ParsedDocstring, at: int, margin: int) -> bool:
    """Return True if the line at a place, or the next one with text, is not of an entry above."""
    starts = {part.first for part in read.sections} | {item.first for item in _items(read)}
    place = next((n for n in range(at, len(read.lines)) if read.lines[n].strip()), None)
    if place is None or place in starts:
        return True
    return place > at and indent_of(read.lines[place]) <= margin


def _entry_lines(
    read: ParsedDocstring,
    model: Item,
    layout: re.Match[str],
    entry: Entry,
    formatting: DocstringFormat,
) -> Iterator[str]:
    named = f"{entry.name}{layout['mark']}"
    if layout["type"] and entry.annotation and read.style:
        named = _TYPES[read.style].format(named, entry.annotation)
    head = layout["head"] + named
    below = read.lines[model.first + 1] if model.last > model.first else ""
    space = re.match(r"\s*", below or layout["head"])
    margin = (space[0] if space else "") + ("" if below else formatting.step)
    text = _as_beside(entry.text, model.text)
    if layout["rest"].strip():
        yield from wrapped(text, formatting.width, f"{head}{_colon(layout, named)}", margin)
    else:
        yield head + layout["colon"].rstrip()
        yield from wrapped(text, formatting.width, margin, margin)
    if read.style == "rest" and _below(read, model) > model.last + 1 and entry.annotation:
        yield f"{layout['head'].partition(':')[0]}:type {entry.name}: {entry.annotation}"


def _colon(layout: re.Match[str], named: str) -> str:
    """Return the colon of an entry, with spaces after it so that aligned texts stay so."""
    colon = layout["colon"]
    if not colon.endswith("  "):
        return colon
    column = layout.start("rest") - len(layout["head"]) - len(named) - len(colon.rstrip())
    return colon.rstrip() + " " * max(1, column)


def _as_beside(text: str, other: str) -> str:
    """Return a text that begins and ends as another one: with a capital letter, and a period."""
    plain = text.strip().rstrip(".")
    ended = f"{plain}." if other.endswith(".") and not plain.endswith(("?", "!", ":")) else plain
    if ended[:1].isupper() and ended[1:2].islower() and other[:1].islower():
        return ended[0].lower() + ended[1:]
    return ended[0].upper() + ended[1:] if other[:1].isupper() else ended
