"""Recorded text as HTML: escaped, with control characters visible, and cut if it is long."""

import re

from markupsafe import Markup, escape

from remora.text import HIDDEN, count, escape_character

MOST_CHARACTERS = 100_000
"""Characters of a text that a page shows."""
_BREAK = re.compile(r"(?<=\w)([_/.(,:])(?=\S)")
_CODE = re.compile("`([^`\n]+)`")


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
        return HIDDEN.sub(_escape, value)
    return value


def _escaped(found: re.Match[str]) -> str:
    return f'<span class="hidden">{_escape(found)}</span>'


def _escape(found: re.Match[str]) -> str:
    return escape_character(found[0])
