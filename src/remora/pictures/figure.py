"""The frame of the timeline: its description, its legend, the drawing, and the same as a table."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from remora.pictures.markup import element, joined

WIDTH = 900
"""Width of every drawing in its own units, which are about a pixel on a page."""
_CHARACTER = 7.2
"""Width of a character of 12 units in a monospaced font."""


class Key(NamedTuple):
    """An entry of a legend. `kind` is the class of the elements that it explains."""

    kind: str
    mark: str
    text: str


class Table(NamedTuple):
    """The content of a picture as text. `note` says what is left out, or is empty."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str


class Frame(NamedTuple):
    """What surrounds a drawing.

    `text` says in a sentence what the drawing shows. Screen readers skip the parts of a drawing,
    unless `has_links` is True.
    """

    text: str
    keys: Sequence[Key]
    table: Table
    has_links: bool


def figure(frame: Frame, height: float, drawing: Iterable[str]) -> Markup:
    """Return the picture as an HTML figure."""
    svg = element(
        "svg",
        element("title", "Timeline", id="timeline-title"),
        element("desc", frame.text, id="timeline-text"),
        *drawing,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        role="group" if frame.has_links else "img",
        aria_labelledby="timeline-title timeline-text",
    )
    return element(
        "figure",
        element("figcaption", element("strong", "Timeline"), f" {frame.text}"),
        element("ul", *map(_key, frame.keys), class_="keys"),
        element("div", svg, class_="drawing", tabindex=0, role="group", aria_label="Timeline"),
        _table(frame.table),
        class_="picture",
    )


def clipped(text: str, width: float) -> str:
    """Return the text, or as many characters of its beginning as fit into `width`."""
    most = int(width / _CHARACTER)
    if len(text) <= most:
        return text
    if most < 2:
        return ""
    return text[: most - 1] + "…"


def _key(key: Key) -> Markup:
    return element("li", element("span", key.mark, class_=f"swatch {key.kind}"), key.text)


def _table(table: Table) -> Markup:
    head = element("tr", *(element("th", head, scope="col") for head in table.heads))
    rows = (element("tr", *(element("td", cell) for cell in row)) for row in table.rows)
    note = element("p", table.note) if table.note else Markup("")
    return element(
        "details",
        element("summary", "as a table"),
        element("div", element("table", head, joined(rows)), note, class_="drawing"),
    )
