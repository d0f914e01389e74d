"""A report as one self-contained HTML page."""

from collections.abc import Iterator
from html import escape

from remora.runs.records.findings import is_lint_code
from remora.runs.records.totals import phrases_of
from remora.runs.report.page_style import STYLE
from remora.runs.report.phrases import (
    count,
    deciders,
    decisions_text,
    fixes_of,
    headline,
    left_codes,
    pending_text,
    reasons,
    run_line,
    state_word,
    totals,
)
from remora.runs.report.report_model import JobReport, Report
from remora.text import escape_line

_CLASSES = {
    "submitted": "good",
    "accepted": "good",
    "pending": "wait",
    "conflict": "warn",
    "stale": "warn",
    "failed": "warn",
    "interrupted": "warn",
    "error": "bad",
}
_MARKS = {"+++": "head", "---": "head", "@@": "hunk", "+": "add", "-": "del"}
# no script, no picture, no font: even a name that got through could load nothing
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(report: Report) -> str:
    """Return the page; all names and messages from the project are escaped."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    name = _text(report.project)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{name}: {_text(headline(report))}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{name}: {pending_text(report)}</h1>"
    yield f'<p class="dim">Run <code>{_text(report.run_id)}</code> · {_text(run_line(report))}</p>'
    yield from _numbers(report)
    yield f"<h2>Jobs</h2>\n<p>{_text(totals(report))}. {_text(decisions_text(report))}.</p>"
    yield from (f"<p>{_text(one.whole)}.</p>" for one in phrases_of(report.sums) if one.more)
    for job in report.jobs:
        yield from _job(job)
    yield from _left(report)
    yield "<footer><p><code>remora trace verify</code> proves that this is what happened. "
    yield f"The record ends with <code>{report.head.count} {_text(report.head.hash)}</code>. "
    yield f"Remora {_text(report.version)}.</p></footer>\n</body>\n</html>"


def _numbers(report: Report) -> Iterator[str]:
    accepted = report.states.get("accepted", 0)
    left = sum(len(job.left) for job in report.jobs)
    shown = [(f"{one.done:,} / {one.of:,}", one.what) for one in phrases_of(report.sums)]
    shown += [
        (f"{report.waiting:,}", "change sets wait"),
        (f"{accepted:,}", "accepted"),
        (f"{left:,}", "left"),
    ]
    yield '<ul class="numbers">'
    for number, what in shown:
        yield f"<li><b>{number}</b>{_text(what)}</li>"
    yield "</ul>"


def _job(job: JobReport) -> Iterator[str]:
    diffs = "".join(file.diff for file in job.files)
    if not diffs:
        yield f'<div class="job">{_head(job)}</div>'
        return
    yield f"<details><summary>{_head(job)}</summary>"
    lines = diffs.removesuffix("\n").split("\n")
    yield "<pre>" + "".join(map(_diff_line, lines)) + "</pre></details>"


def _head(job: JobReport) -> str:
    state = state_word(job.state) + (f" on {escape_line(job.branch)}" if job.branch else "")
    told = [
        fixes_of(job),
        f"left {left_codes(job.left)}" if job.left else "",
        f"{count(job.turns, 'turn')}: {deciders(job)}" if deciders(job) else "",
    ]
    parts = [
        f'<span class="state {_CLASSES.get(job.state, "quiet")}">{_text(state)}</span>',
        f'<span class="name">{_text(f"{job.path}:{job.name}")}</span>',
        f'<span class="what">{_text(_what(job, "; ".join(filter(None, told))))}</span>',
    ]
    parts += [f'<span class="why">{_text(reason)}</span>' for reason in reasons(job)]
    return "".join(parts)


def _what(job: JobReport, told: str) -> str:
    """Return the text, preceded by the operation unless it begins with it."""
    return told if told.startswith(f"{job.operation} ") else f"{job.operation}: {told}"


def _diff_line(line: str) -> str:
    kind = next((name for mark, name in _MARKS.items() if line.startswith(mark)), "")
    return f'<span class="{kind}">{_text(line) or " "}</span>'


def _left(report: Report) -> Iterator[str]:
    found = [(job, finding) for job in report.jobs for finding in job.left]
    if not found and not report.unreadable:
        return
    yield "<h2>Left</h2>\n<table><tr><th>where</th><th>rule</th><th>what</th></tr>"
    for job, finding in found:
        place = f"{job.path}:{finding.line}" if finding.line else f"{job.path}:{job.name}"
        ours = bool(finding.code) and not is_lint_code(finding.code)
        cells = place, "" if ours else finding.code, finding.code if ours else finding.message
        yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>"
    for file in report.unreadable:
        cells = str(file.get("path")), "", f"could not be read: {file.get('detail')}"
        yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table>"


def _text(text: str) -> str:
    return escape(escape_line(text))
