"""Run reports as self-contained HTML pages."""

from collections.abc import Iterator

from markupsafe import Markup

from remora.code.syntax.diff_parts import diff_lines
from remora.pictures.markup import diff_html, escaped
from remora.pictures.picture_style import PICTURE_STYLE
from remora.runs.report.report_layout import JobRow, Layout, layout
from remora.runs.report.report_model import Report
from remora.text import count

STYLE = """\
:root {
  color-scheme: light dark; --card: #fff; --text: #1f2328; --dim: #626b75; --line: #dfe2e6;
  --good: #1a7f37; --bad: #b3261e; --wait: #0b62c4; --warn: #8a5a00; --add: #e3f6e7; --del: #fdecea;
}
@media (prefers-color-scheme: dark) {
  :root {
    --card: #1b1f24; --text: #dfe3e8; --dim: #98a2ad; --line: #30363d;
    --good: #57c26f; --bad: #ff8a80; --wait: #72b1ff; --warn: #e3b341; --add: #173121; --del: #3b1d1d;
  }
}
html { background: Canvas; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem; color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.05rem; margin-top: 2.2rem; } p { margin: .25rem 0; }
.dim, footer, .head, .hunk, .quiet { color: var(--dim); }
.numbers { display: flex; flex-wrap: wrap; gap: .75rem; padding: 0; list-style: none; }
.numbers li { flex: 1 1 8rem; padding: .6rem .9rem; color: var(--dim); }
.numbers b { display: block; color: var(--text); font-size: 1.45rem; }
.numbers li, details, .job { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; }
summary, .job { display: flex; flex-wrap: wrap; gap: .2rem .8rem; padding: .5rem .9rem; overflow-wrap: anywhere; }
summary { cursor: pointer; list-style: none; } summary::-webkit-details-marker { display: none; }
summary::after { content: "diff"; color: var(--wait); margin-left: auto; }
.name, .state { font-weight: 600; } .state { min-width: 5.5rem; } .what { color: var(--dim); }
.good { color: var(--good); } .bad { color: var(--bad); } .wait { color: var(--wait); } .warn, .why { color: var(--warn); }
.why { flex-basis: 100%; }
pre { margin: 0; padding: .6rem 0; overflow-x: auto; border-top: 1px solid var(--line); tab-size: 4; }
pre span { display: block; min-width: max-content; padding: 0 .9rem; }
.add { background: var(--add); } .del { background: var(--del); }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
pre, code, .name, td:nth-child(-n+2) { font-family: ui-monospace, monospace; font-size: .85rem; }
footer { margin-top: 2.5rem; font-size: .85rem; }
@media print { details, .job { break-inside: avoid; } }
"""

_CLASSES = {
    **dict.fromkeys(("verified", "accepted"), "good"),
    **dict.fromkeys(("conflict", "stale", "failed", "interrupted"), "warn"),
    "pending": "wait",
    "error": "bad",
}
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
    lines = "".join(map(diff_html, diff_lines(row.diff)))
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


def _remaining(parts: Layout) -> Iterator[str]:
    rows = [*parts.findings, *parts.unreadable]
    if rows:
        yield "<h2>Remaining</h2>\n<table><tr><th>where</th><th>rule</th><th>what</th></tr>"
        for row in rows:
            yield "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>"
        yield "</table>"
