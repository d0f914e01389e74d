"""The results of an evaluation as a self-contained HTML page."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

from remora.evals.restore.curve_figure import curve_figure
from remora.evals.restore.phrases import HEAD, details, heading, row
from remora.runs.report.page_style import STYLE
from remora.text import escape_line

# no scripts, images or fonts: even an unescaped name could not load anything
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_CURVE_STYLE = """\
.curve { max-width: 32rem; display: block; font-size: 11px; fill: var(--text); overflow: visible; }
.grid { stroke: var(--line); } td { font-variant-numeric: tabular-nums; }
.arms th, .arms td + td { overflow-wrap: normal; }
"""
_EXPLANATION = (
    "Precision is the share of the written parts that mean what people wrote; coverage is the share "
    "of the hidden parts that were written. A curve takes the likeliest parts first. Ranges are 95 % "
    "intervals: from drawing files with replacement, or that of the parts alone (Wilson) where it is "
    "wider."
)


def html_page(document: Mapping[str, Any], project: str) -> str:
    """Return the document of an evaluation as HTML. All names and texts are escaped."""
    return "\n".join(_lines(document, project)) + "\n"


def _lines(document: Mapping[str, Any], project: str) -> Iterator[str]:
    title = f"{_text(project)}: restored by Remora"
    versions = ", ".join(f"{name} {number}" for name, number in document["versions"].items())
    commit = f"commit {document['commit'][:12]}, " if document["commit"] else ""
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>\n{STYLE}{_CURVE_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{title}</h1>"
    yield f'<p class="dim">{_text(commit)}seed {document["seed"]}, {_text(versions)}</p>'
    yield f"<p>{_EXPLANATION}</p>"
    for found in document["operations"]:
        yield from _operation(found)
    if document["notes"]:
        yield "<h2>Notes</h2>"
        yield from (f"<p>{_text(note)}</p>" for note in document["notes"])
    yield "</body>\n</html>"


def _operation(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"<h2>{_text(heading(found))}</h2>"
    arms = [arm for arm in found["arms"] if not arm["error"]]
    if arms:
        yield curve_figure(arms)
        yield _row("th", [name.lower() for name in HEAD], '<table class="arms">')
        yield from (_row("td", row(arm)) for arm in arms)
        yield "</table>"
    for arm in found["arms"]:
        yield from (f"<p>{_text(line)}</p>" for line in details(arm))
    if found["examples"]:
        yield "<details><summary>Different texts</summary>"
        yield _row("th", ("where", "part", "people", "arm", "written"), "<table>")
        for each in found["examples"]:
            where = f"{each['path']}:{each['qualname']}"
            yield _row("td", (where, *(each[key] for key in ("part", "people", "arm", "written"))))
        yield "</table></details>"


def _row(tag: str, cells: Iterable[object], before: str = "") -> str:
    return f"{before}<tr>{''.join(f'<{tag}>{_text(str(cell))}</{tag}>' for cell in cells)}</tr>"


def _text(text: str) -> str:
    return escape(escape_line(text))
