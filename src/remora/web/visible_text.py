"""Recorded text as HTML: escaped, with control characters visible, and cut if it is long."""

import re

from markupsafe import Markup, escape

from remora.text import count, escape_line

MOST_CHARACTERS = 100_000
"""Characters of a text that a page shows."""
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
"""Control, bidirectional and invisible characters, but for tab and newline."""


def visible(text: object, limit: int = MOST_CHARACTERS) -> Markup:
    """Return a text as HTML. Hidden characters are shown as escapes, such as `\\x1b`."""
    given = str(text)
    shown = Markup(_HIDDEN.sub(_escaped, str(escape(given[:limit]))))  # noqa: S704 (escaped)
    if len(given) > limit:
        more = count(len(given) - limit, "more character")
        shown += Markup('<span class="cut"> … {}</span>').format(more)
    return shown


def visible_line(text: object, limit: int = 300) -> Markup:
    """Return a text as HTML on one line."""
    return visible(str(text).replace("\n", "\\n").replace("\t", "\\t"), limit)


def without_hidden(value: object) -> object:
    """Return a text with its hidden characters as escapes; other values, and HTML, as they are."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _HIDDEN.sub(_escape, value)
    return value


def _escaped(found: re.Match[str]) -> str:
    return f'<span class="hidden">{_escape(found)}</span>'


def _escape(found: re.Match[str]) -> str:
    shown = escape_line(found[0])
    return shown if shown != found[0] else f"\\u{ord(shown):04x}"
