"""Run reports as self-contained HTML pages."""

from collections.abc import Iterator

from markupsafe import Markup

from remora.pictures.markup import escaped
from remora.pictures.picture_style import PICTURE_STYLE
from remora.runs.report.page_style import STYLE
from remora.runs.report.report_layout import (
    JobRow,
    Layout,
    layout,
)
from remora.runs.report.report_model import Report
from remora.text import count

_CLASSES = {
    **dict.fromkeys(("submitted", "accepted"), "good"),
    **dict.fromkeys(("conflict", "stale", "failed", "interrupted"), "warn"),
    "pending": "wait",
    "error": "bad",
}
_MARKS = {"+++": "head", "---": "head", "@@": "hunk", "+": "add", "-": "del"}
# no scripts, images or fonts: even an unescaped name could not load anything
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_NOTHING = Markup("")


def html_page(report: Report, drawn: Markup = _NOTHING) -> str:
    """Return the report as HTML, with the drawn timeline.

    All names and messages from the project are escaped.
    """
    return "\n".join(_lines(report, layout(report), drawn)) + "\n"


def _lines(report: Report, parts: Layout, drawn: Markup) -> Iterator[str]:
    style = STYLE + PICTURE_STYLE if drawn else STYLE
    name = escaped(report.project)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{name}: {escaped(parts.headline)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>"
    yield f"<h1>{name}: {parts.pending}</h1>"
    yield f'<p class="dim">Run <code>{escaped(report.run_id)}</code> · {escaped(parts.run)}</p>'
    yield '<ul class="numbers">'
    yield from (f"<li><b>{number}</b>{escaped(what)}</li>" for number, what in parts.numbers)
    yield "</ul>"
    yield drawn
    yield f"<h2>Jobs</h2>\n<p>{escaped(parts.totals)}</p>"
    yield from (f"<p>{escaped(detail)}.</p>" for detail in parts.details)
    yield from map(_job, parts.jobs)
    yield from _remaining(parts)
    yield "</main>\n<footer><p>Verify this record with <code>remora trace verify</code>. "
    yield f"Its head is <code>{escaped(parts.head)}</code>. "
    yield f"Remora {escaped(report.version)}.</p></footer>\n</body>\n</html>"


def _job(row: JobRow) -> str:
    if not row.diff:
        return f'<div class="job">{_summary(row)}</div>'
    lines = "".join(map(_diff_line, row.diff.removesuffix("\n").split("\n")))
    return f"<details><summary>{_summary(row)}</summary>\n<pre>{lines}</pre></details>"


def _summary(row: JobRow) -> str:
    job = row.job
    turns = f"{count(job.turns, 'turn')}: {row.deciders}" if row.deciders else ""
    parts = [row.fixed, f"left {row.left}" if row.left else "", turns]
    text = "; ".join(filter(None, parts))
    what = text if text.startswith(f"{job.operation} ") else f"{job.operation}: {text}"
    state = row.state + (f" on {job.branch}" if job.branch else "")
    spans = [
        (f"state {_CLASSES.get(job.state, 'quiet')}", state),
        ("name", row.name),
        ("what", what),
        *(("why", reason) for reason in row.reasons),
    ]
    return "".join(f'<span class="{kind}">{escaped(text)}</span>' for kind, text in spans)


def _diff_line(line: str) -> str:
    kind = next((name for mark, name in _MARKS.items() if line.startswith(mark)), "")
    return f'<span class="{kind}">{escaped(line) or " "}</span>'


def _remaining(parts: Layout) -> Iterator[str]:
    rows = [*parts.findings, *parts.unreadable]
    if rows:
        yield "<h2>Remaining</h2>\n<table><tr><th>where</th><th>rule</th><th>what</th></tr>"
        for row in rows:
            yield "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>"
        yield "</table>"
