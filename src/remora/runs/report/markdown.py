"""A report in Markdown for a pull request; details are folded."""

import html
import re
from collections.abc import Iterator

from remora.runs.records.totals import phrases_of
from remora.runs.report.phrases import (
    count,
    deciders,
    decisions_text,
    fixes_of,
    headline,
    left_codes,
    reasons,
    run_line,
    state_word,
    totals,
)
from remora.runs.report.report_model import JobReport, Report
from remora.text import escape_line

_MOST_DIFFS = 40_000
"""Characters of all diffs: a comment may have some 65,000."""
_MOST_LEFT = 20
"""Number of remaining findings shown unfolded."""
_TICKS = re.compile(r"`+")
_BARE_BAR = re.compile(r"(?<!\\)\|")
_ACTIVE = re.compile(r"([\\`*_\[\]<>#|~&])")


def markdown(report: Report) -> str:
    """Return the report; all names and messages from the project are quoted."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"## Remora: {_text(headline(report))}"
    yield ""
    yield f"Run {_code(report.run_id)} · {_text(run_line(report))}"
    yield ""
    yield f"{_text(totals(report))}. {decisions_text(report)}."
    more = [one for one in phrases_of(report.sums) if one.more]
    if more:
        yield ""
        yield from (f"- {_text(escape_line(one.whole))}" for one in more)
    yield from _left(report)
    if report.jobs:
        yield from ["", f"<details><summary>{count(len(report.jobs), 'job')}</summary>", ""]
        yield "| node | result | done | left | decided by |"
        yield "|---|---|---|---|---|"
        yield from map(_row, report.jobs)
        yield from ["", "</details>"]
    yield from _diffs(report)
    yield ""
    told = "`remora trace verify` proves that this is what happened; the record ends with"
    yield f"<sub>{told} {report.head.count} {_text(report.head.hash)}. Remora {_text(report.version)}</sub>"


def _row(job: JobReport) -> str:
    cells = [
        _code(f"{job.path}:{job.name}") + f" {_text(job.operation)}",
        _text(state_word(job.state)) + (f" on {_code(job.branch)}" if job.branch else ""),
        _text(fixes_of(job)),
        _text(left_codes(job.left)),
        _text(deciders(job)),
    ]
    cells[1] += "".join(f"<br>{_text(reason)}" for reason in reasons(job))
    cells = [_BARE_BAR.sub(r"\\|", cell) for cell in cells]  # a table splits even code at it
    return "| " + " | ".join(cells) + " |"


def _left(report: Report) -> Iterator[str]:
    found = [(job, finding) for job in report.jobs for finding in job.left]
    if not found and not report.unreadable:
        return
    folded = len(found) > _MOST_LEFT
    yield from ["", "### Left", ""]
    if folded:
        yield from [
            f"<details><summary>{len(found)} findings of the nodes that were worked on</summary>",
            "",
        ]
    for job, finding in found:
        place = f"{job.path}:{finding.line}" if finding.line else f"{job.path}:{job.name}"
        yield f"- {_code(place)} {_text(escape_line(f'{finding.code} {finding.message}'.strip()))}"
    yield from ["", "</details>", ""] if folded else []
    for file in report.unreadable:
        yield f"- {_code(str(file.get('path')))} could not be read: {_text(escape_line(str(file.get('detail'))))}"


def _diffs(report: Report) -> Iterator[str]:
    room = _MOST_DIFFS
    left_out = 0
    for job in report.jobs:
        text = "".join(file.diff for file in job.files)
        if not text or not job.review:
            continue
        if len(text) > room:
            left_out += 1
            continue
        room -= len(text)
        fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
        name = html.escape(escape_line(f"{job.path}:{job.name}"))
        yield from ["", f"<details><summary>diff of <code>{name}</code></summary>", ""]
        yield from [f"{fence}diff", *map(escape_line, text.removesuffix("\n").split("\n")), fence]
        yield from ["", "</details>"]
    if left_out:
        yield ""
        sets = "diff is" if left_out == 1 else "diffs are"
        yield f"{left_out} more {sets} too long for here: {_code(f'remora diff {report.run_id}')}"


def _code(text: str) -> str:
    """Return a code span whose ticks are longer than those within."""
    shown = escape_line(text)
    longest = max(map(len, _TICKS.findall(shown)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {shown} {ticks}" if longest else f"{ticks}{shown}{ticks}"


def _text(text: str) -> str:
    """Return escaped text; text with `@` becomes code, so that it mentions no user."""
    if "@" in text:
        return _code(text)
    return _ACTIVE.sub(r"\\\1", escape_line(text))
