"""Recorded texts and JSON values as HTML, with hidden characters visible."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import Any

from markupsafe import Markup, escape

from remora.memory.canonical import json_text
from remora.text import HIDDEN, count, escape_character, escape_hidden

MOST_CHARACTERS = 100_000
"""Characters of a text that a page shows."""
_BREAK = re.compile(r"(?<=\w)([_/.(,:])(?=\S)")
_CODE = re.compile("`([^`\n]+)`")
_DEPTH = 8
_MOST_ROWS = 500
_MOST_COLUMNS = 12
_MOST_CELLS = 20_000
_LONG = 120
"""Characters from which a text is shown in a block of its own."""
_WRAPPED = 40
"""Characters from which a cell with a text has a least width."""
_LONG_CELL = Markup(' class="long"')
_BLOCK = Markup(' class="block"')
_EMPTY = Markup('<span class="none">empty</span>')


def value_html(value: Any) -> Markup:
    """Return a JSON value as HTML.

    Objects become lists of names and values, lists of similar objects tables with a column for
    each key. What is nested too deeply is shown as JSON. Of long lists, the first rows are shown.
    """
    return _Tables().value(value, 0)


class _Tables:
    def __init__(self) -> None:
        self._cells = 0

    def value(self, value: Any, depth: int) -> Markup:
        self._cells += 1
        if self._cells > _MOST_CELLS:
            return Markup('<span class="cut">…</span>')
        if depth >= _DEPTH:
            return _as_json(value)
        match value:
            case dict():
                return self._object(value, depth)
            case list() | tuple():
                return self._list(value, depth)
            case str():
                return _text(value)
        return Markup('<code class="scalar">{}</code>').format(json_text(value))

    def _object(self, members: Mapping[str, Any], depth: int) -> Markup:
        if not members:
            return _EMPTY
        rows = (
            Markup("<div{}><dt>{}</dt><dd>{}</dd></div>").format(
                _BLOCK if _is_large(member) else "", breakable(name), self.value(member, depth + 1)
            )
            for name, member in _first(members.items())
        )
        return Markup('<dl class="object">{}</dl>{}').format(_join(rows), _more(members))

    def _list(self, items: Sequence[Any], depth: int) -> Markup:
        if not items:
            return _EMPTY
        columns = _columns(items)
        if columns:
            return self._table(items, columns, depth)
        rows = (Markup("<li>{}</li>").format(self.value(item, depth + 1)) for item in _first(items))
        return Markup("<ul>{}</ul>{}").format(_join(rows), _more(items))

    def _table(self, items: Sequence[Any], columns: Sequence[str], depth: int) -> Markup:
        head = (Markup('<th scope="col">{}</th>').format(visible_line(name)) for name in columns)
        rows = (
            Markup("<tr>{}</tr>").format(_join(self._cells_of(item, columns, depth)))
            for item in _first(items)
        )
        return Markup(
            '<div class="scroll" tabindex="0"><table class="list"><thead><tr>{}</tr></thead>'
            "<tbody>{}</tbody></table></div>{}"
        ).format(_join(head), _join(rows), _more(items))

    def _cells_of(
        self, item: Mapping[str, Any], columns: Sequence[str], depth: int
    ) -> Iterator[Markup]:
        for name in columns:
            value = item.get(name)
            inner = self.value(value, depth + 1) if name in item else ""
            is_long = isinstance(value, str) and len(value) > _WRAPPED
            yield Markup("<td{}>{}</td>").format(_LONG_CELL if is_long else "", inner)


def _text(text: str) -> Markup:
    if not text:
        return Markup('<code class="none">""</code>')
    if "\n" not in text and len(text) <= _LONG:
        return Markup('<span class="text">{}</span>').format(visible_line(text))
    return Markup("<pre>{}</pre>").format(visible(text))


def _is_large(value: Any) -> bool:
    """Return True if a member of an object is shown below its name, not beside it."""
    if isinstance(value, str):
        return "\n" in value or len(value) > _LONG
    return isinstance(value, (dict, list)) and bool(value)


def _columns(items: Sequence[Any]) -> list[str]:
    """Return the keys of a list of similar objects, or nothing if it is another list."""
    if not all(isinstance(item, dict) and item for item in items):
        return []
    keys = dict.fromkeys(key for item in _first(items) for key in item)
    return [*keys] if len(keys) <= _MOST_COLUMNS else []


def _as_json(value: Any) -> Markup:
    try:
        text = json_text(value)
    except (ValueError, RecursionError):
        text = "nested too deeply to show"
    return Markup("<pre>{}</pre>").format(visible(text))


def _first(items: Iterable[Any]) -> Iterator[Any]:
    return islice(items, _MOST_ROWS)


def _join(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def _more(items: Sized) -> Markup:
    left = len(items) - _MOST_ROWS
    if left <= 0:
        return Markup("")
    return Markup('<p class="cut">and {}</p>').format(count(left, "more row"))


def visible(text: object, limit: int = MOST_CHARACTERS) -> Markup:
    """Return a text as HTML. Hidden characters are shown as escapes, such as `\\x1b`."""
    given = str(text)
    shown = Markup(HIDDEN.sub(_escaped, str(escape(given[:limit]))))  # noqa: S704 (escaped)
    if len(given) > limit:
        more = count(len(given) - limit, "more character")
        shown += Markup('<span class="cut"> … {}</span>').format(more)
    return shown


def visible_line(text: object, limit: int = 300) -> Markup:
    """Return a text as HTML on one line."""
    return visible(str(text).replace("\n", "\\n").replace("\t", "\\t"), limit)


def breakable(text: object) -> Markup:
    """Return a call, a path or a name as HTML on one line, which may break after `_ / . ( , :`."""
    return Markup(_BREAK.sub(r"\1<wbr>", str(visible_line(text))))  # noqa: S704 (escaped)


def with_code(text: object) -> Markup:
    """Return a message as HTML, with what it has between backticks as code."""
    shown = _CODE.sub(r"<code>\1</code>", str(visible(text, 4000)))
    return Markup(shown)  # noqa: S704 (escaped)


def without_hidden(value: object) -> object:
    """Return a text with its hidden characters as escapes; other values, and HTML, as they are."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return escape_hidden(value)
    return value


def _escaped(hidden: re.Match[str]) -> str:
    return f'<span class="hidden">{escape_character(hidden[0])}</span>'
