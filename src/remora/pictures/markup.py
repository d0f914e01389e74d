"""HTML and SVG elements whose text and attribute values are escaped."""

import re
from collections.abc import Callable, Iterable

from markupsafe import Markup, escape

from remora.code.syntax.diff_parts import DiffLine
from remora.text import escape_line

_TAGS = {"keyword": "b", "string": "i", "comment": "i"}
_INNER_LINK = re.compile(r"/(?![/\\])[!-~]*|[#?][!-~]*")


def element(name: str, *content: str, **attributes: str | float | None) -> Markup:
    """Return an element.

    In names of attributes, `_` becomes `-`, and a final `_` is dropped: `class_`. Attributes
    without a value are left out. Control characters and bidirectional controls are made visible.
    """
    shown = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = joined(content)
    return Markup(f"<{name}{shown}>{inner}</{name}>")  # noqa: S704 (escaped)


def joined(parts: Iterable[str]) -> Markup:
    """Return the parts one after another."""
    return Markup("").join(map(escaped, parts))


def link(href: str, *content: str) -> Markup:
    """Return a link to a page of the same server.

    The content is returned without a link if `href` leads elsewhere, or is a script.
    """
    if _INNER_LINK.fullmatch(href) is None:
        return joined(content)
    return element("a", *content, href=href)


def escaped(text: str) -> Markup:
    """Return a text as HTML, in a single line. HTML is returned as it is."""
    return text if isinstance(text, Markup) else escape(escape_line(text))


def diff_html(line: DiffLine, show: Callable[[str], Markup] = escaped) -> Markup:
    """Return a line of a diff, with its kind as the class. `show` returns a text as HTML."""
    shown = Markup()
    for part in line.parts:
        text = show(part.text)
        for tag in filter(None, (_TAGS.get(part.syntax), "u" if part.is_other else None)):
            text = element(tag, text)
        shown += text
    return element("span", shown or " ", class_=line.kind)


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escaped(value)
    return f"{value:.1f}".removesuffix(".0")
