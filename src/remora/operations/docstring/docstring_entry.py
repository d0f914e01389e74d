"""A new entry of a docstring's section, laid out as its neighbors are."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from remora.code.syntax.docstring_sections import (
    Item,
    Kind,
    ParsedDocstring,
    Style,
    indent_of,
    parse_docstring,
)
from remora.errors import HostError
from remora.operations.docstring.given_text import wrapped

_LAYOUTS: Mapping[Style, str] = {
    "google": r"(?P<head>\s*[`'\"]*){name}(?P<mark>[`'\"]*)(?P<type>\s*\(.*?\))?(?P<colon>\s*:\s*).*",
    "numpy": r"(?P<head>\s*[`'\"]*){name}(?P<mark>[`'\"]*)(?P<type>\s*:.*)?(?P<colon>)",
    "rest": r"(?P<head>\s*:\w+\s+){name}(?P<mark>)(?P<type>)(?P<colon>\s*:\s*).*",
}
_DEEPER = 4
"""Spaces before the further lines of an entry, where its neighbors have only one."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What a docstring leaves out: a parameter or exception, what it is for, and its type if known.

    `order` has the names of all such parts, as the code has them.
    """

    kind: Kind
    name: str
    text: str
    annotation: str | None = None
    order: Sequence[str] = ()


def lines_with(inner: str, entry: Entry, width: int) -> list[str]:
    """Return the lines between the quotes, with an entry after those of the parts before it.

    Raises HostError if no other entry shows how to write it.
    """
    read = parse_docstring(inner)
    lines = list(read.lines)
    items = [item for part in read.sections if part.kind == entry.kind for item in part.items]
    is_before = {*entry.order[: entry.order.index(entry.name)]} if entry.name in entry.order else {}
    above = [item for item in items if set(item.names) & set(is_before)]
    for model in (*reversed(above), *items):
        layout = _layout(read, model)
        if layout is not None and model.text:
            break
    else:
        raise HostError(f"no other entry shows how to describe {entry.name}")
    at = above[-1].last + 1 if above else items[0].first
    following = min((item.first for item in items if item.first > model.last), default=0)
    gap = [""] if following > model.last + 1 and not lines[model.last + 1].strip() else []
    new = list(_entry_lines(read, model, layout, entry, width))
    lines[at:at] = [*gap, *new] if above else [*new, *gap]
    return lines


def _layout(read: ParsedDocstring, model: Item) -> re.Match[str] | None:
    if read.style is None or len(model.names) != 1:
        return None
    pattern = _LAYOUTS[read.style].replace("{name}", re.escape(model.names[0]))
    return re.fullmatch(pattern, read.lines[model.first])


def _entry_lines(
    read: ParsedDocstring, model: Item, layout: re.Match[str], entry: Entry, width: int
) -> Iterator[str]:
    head = f"{layout['head']}{entry.name}{layout['mark']}"
    if layout["type"] and entry.annotation:
        is_numpy = read.style == "numpy"
        head += f" : {entry.annotation}" if is_numpy else f" ({entry.annotation})"
    below = read.lines[model.first + 1] if model.last > model.first else ""
    margin = " " * (indent_of(below) if below else indent_of(layout["head"]) + _DEEPER)
    text = _as_beside(entry.text, model.text)
    if not layout["colon"] or read.lines[model.first].rstrip().endswith(layout["colon"].rstrip()):
        yield head + layout["colon"].rstrip()
        yield from wrapped(text, width, margin, margin)
    else:
        yield from wrapped(text, width, f"{head}{layout['colon']}", margin)


def _as_beside(text: str, other: str) -> str:
    """Return a text that begins and ends as another one: with a capital letter, and a period."""
    plain = text.strip().rstrip(".")
    ended = f"{plain}." if other.endswith(".") else plain
    if ended[:1].isupper() and not ended[1:2].isupper() and other[:1].islower():
        return ended[0].lower() + ended[1:]
    return ended[0].upper() + ended[1:] if other[:1].isupper() else ended
