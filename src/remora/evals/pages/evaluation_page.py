"""The frame of every evaluation's page: one self-contained HTML file."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from remora.pictures.markup import element, joined
from remora.pictures.picture_style import PICTURE_STYLE
from remora.runs.report.page_style import STYLE

# no scripts, images or fonts: even an unescaped name could not load anything
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_TABLE_STYLE = """\
summary::after { content: none; } details > .scroll { padding: 0 .9rem .4rem; }
.scroll { overflow-x: auto; } td { font-variant-numeric: tabular-nums; }
.numbers-table { font-size: .85rem; }
.numbers-table th, .numbers-table td { white-space: nowrap; }
.texts-table td { min-width: 6rem; overflow-wrap: break-word; }
.numbers-table td:nth-child(2) { font: inherit; font-variant-numeric: tabular-nums; }
"""


class Section(NamedTuple):
    """A part of a page. Parts that are empty are left out."""

    heading: str
    parts: Sequence[Markup]


class EvaluationPage(NamedTuple):
    """What a page says. `about` describes what was evaluated, and `text` explains its numbers."""

    title: str
    about: str
    text: str
    sections: Sequence[Section]
    notes: Sequence[str] = ()


def html_page(found: EvaluationPage) -> str:
    """Return a page as HTML. All names and texts are escaped."""
    return "\n".join(_lines(found)) + "\n"


def paragraphs(texts: Iterable[str]) -> Markup:
    """Return each text as a paragraph."""
    return joined(element("p", text) for text in texts)


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], kind: str = "numbers-table"
) -> Markup:
    """Return a table that scrolls if it is too wide. `kind` may be `texts-table`."""
    head = element("tr", *(element("th", each, scope="col") for each in heads))
    body = (element("tr", *(element("td", str(cell)) for cell in row)) for row in rows)
    inner = element("table", head, *body, class_=kind)
    return element("div", inner, class_="scroll", tabindex=0, role="group", aria_label="table")


def folded(summary: str, part: Markup) -> Markup:
    """Return a part that is shown when its summary is opened."""
    return element("details", element("summary", summary), part)


def _lines(found: EvaluationPage) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield element("title", found.title)
    yield f"<style>\n{STYLE}{PICTURE_STYLE}{_TABLE_STYLE}</style>\n</head>\n<body>\n<main>"
    yield element("h1", found.title)
    yield element("p", found.about, class_="dim")
    yield element("p", found.text)
    notes = Section("Notes", [paragraphs(found.notes)])
    for section in (*found.sections, *([notes] if found.notes else ())):
        yield element("h2", section.heading)
        yield from filter(None, section.parts)
    yield "</main>\n</body>\n</html>"
