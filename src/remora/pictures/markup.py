"""HTML and SVG elements whose text and attribute values are escaped."""

import re
from collections.abc import Iterable

from markupsafe import Markup, escape

from remora.text import escape_line

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


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escaped(value)
    return f"{value:.1f}".removesuffix(".0")
