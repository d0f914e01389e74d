"""Run reports in Markdown for pull requests, with collapsed details."""

import re
from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup, escape

from remora.ids import display_name
from remora.runs.records.decision_sources import model_text, sources_text
from remora.runs.records.totals import phrases_of
from remora.runs.report.job_texts import finding_text, fixes_of, has_rule, left_codes, reasons
from remora.runs.report.report_model import Finding, JobReport, Report
from remora.statuses import status_text
from remora.text import count, escape_line

MAX_DIFFS = 40_000
"""Maximum characters of all diffs. A comment on GitHub may have about 65,000."""
_MAX_UNFOLDED = 20
"""Maximum number of remaining findings that are not collapsed."""
_TICKS = re.compile(r"`+")
_BARE_BAR = re.compile(r"(?<!\\)\|")
_ACTIVE = re.compile(r"([\\`*_\[\]<>#|~&])")


def escaped(text: str) -> Markup:
    """Return a text as HTML, in a single line. HTML is returned as it is."""
    return text if isinstance(text, Markup) else escape(escape_line(text))


def markdown(report: Report) -> str:
    """Return the report as Markdown. All names and messages from the project are escaped."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    phrases = phrases_of(report.sums)
    yield f"## Remora: {escape_markdown(_headline(report, [phrase.brief for phrase in phrases]))}\n"
    yield f"Run {code(report.run_id)} · {escape_markdown(_run_text(report))}\n"
    yield escape_markdown(f"{_totals_text(report)}. {_decisions_text(report)}.")
    details = [*(phrase.whole for phrase in phrases if phrase.more), *report.gates]
    yield from ["", *(f"- {escape_markdown(detail)}" for detail in details)] if details else []
    yield from _remaining(report)
    if report.jobs:
        header = "| node | result | done | left | decided by |\n|---|---|---|---|---|"
        yield from folded(count(len(report.jobs), "job"), [header, *map(_row, report.jobs)])
    yield from _diffs(report)
    yield "\n<sub>Verify this record with `remora trace verify`; its head is"
    head = escape_markdown(f"{report.head.count} {report.head.hash}")
    yield f"{head}. Remora {escape_markdown(report.version)}</sub>"


def _headline(report: Report, done: Sequence[str]) -> str:
    if report.waiting:
        return ", ".join([*done, f"{count(report.waiting, 'change')} pending review"])
    return ", ".join(done) or f"{count(report.planned, 'job')}, nothing to review"


def _run_text(report: Report) -> str:
    """Describe the run, e.g. `ended · 2026-01-31 09:30 UTC · model X · commit abc`."""
    start = report.started[:16].replace("T", " ")
    parts = [report.status, f"{start} UTC", f"model {report.model}"]
    return " · ".join([*parts, f"commit {report.commit[:12]}"] if report.commit else parts)


def _totals_text(report: Report) -> str:
    """Describe the totals, e.g. `6 jobs: 4 accepted, 2 no change; 12 other functions unchanged`."""
    states = ", ".join(f"{n:,} {status_text(state)}" for state, n in report.states.items())
    text = count(report.planned, "job") + (f": {states}" if states else "")
    started = sum(report.states.values())
    text += f"; {report.planned - started:,} not started" if started < report.planned else ""
    others = count(report.skipped_nodes, "other function")
    return text + (f"; {others} unchanged" if report.skipped_nodes else "")


def _decisions_text(report: Report) -> str:
    if sum(report.decisions.values()) == report.decisions.get("rule", 0):
        return "Rules made all decisions"
    parts = [sources_text(report.decisions)]
    return ". ".join(parts if report.by_model is None else [*parts, model_text(report.by_model)])


def folded(title: str, lines: list[str]) -> list[str]:
    """Return lines that are hidden until a reader unfolds them."""
    return [f"\n<details><summary>{title}</summary>\n", *lines, "\n</details>"]


def _row(job: JobReport) -> str:
    result = escape_markdown(status_text(job.state)) + (
        f" on {code(job.branch)}" if job.branch else ""
    )
    deciders = ", ".join(f"{who} {n}" for who, n in job.decided_by.items() if n)
    cells = [
        f"{code(display_name(job.node_id))} {escape_markdown(job.operation)}",
        result + "".join(f"<br>{escape_markdown(reason)}" for reason in reasons(job)),
        *map(escape_markdown, (fixes_of(job), left_codes(job.left), deciders)),
    ]
    cells = [_BARE_BAR.sub(r"\\|", cell) for cell in cells]  # a bar splits table cells even in code
    return "| " + " | ".join(cells) + " |"


def _remaining(report: Report) -> Iterator[str]:
    rows = [_finding(job, finding) for job in report.jobs for finding in job.left]
    if not rows and not report.unreadable:
        return
    yield "\n### Remaining"
    remaining = sum(finding.count for job in report.jobs for finding in job.left)
    title = f"{remaining:,} findings left where the run worked"
    yield from folded(title, rows) if len(rows) > _MAX_UNFOLDED else ["", *rows]
    yield ""
    for file in report.unreadable:
        text = escape_markdown(f"could not be read: {file.get('detail')}")
        yield f"- {code(str(file.get('path')))} {text}"


def _finding(job: JobReport, finding: Finding) -> str:
    place = f"{job.path}:{finding.line}" if finding.line else display_name(job.node_id)
    text = finding_text(finding) + (f" ({finding.reason})" if finding.reason else "")
    rule = finding.code if has_rule(finding) else ""
    return f"- {code(place)} {escape_markdown(f'{rule} {text}'.strip())}"


def _diffs(report: Report) -> Iterator[str]:
    diffs = []
    for job in report.jobs:
        diff = "".join(file.diff for file in job.files)
        if diff and job.review:
            title = f"diff of <code>{escaped(display_name(job.node_id))}</code>"
            diffs.append((title, diff))
    yield from folded_diffs(diffs, code(f"remora diff {report.run_id}"))


def folded_diffs(diffs: Iterable[tuple[str, str]], others: str) -> Iterator[str]:
    """Yield diffs, each with its title, while there is room, and what has the `others`."""
    room, left_out = MAX_DIFFS, 0
    for title, diff in diffs:
        if len(diff) > room:
            left_out += 1
            continue
        room -= len(diff)
        yield from folded(title, diff_block(diff))
    if left_out:
        yield f"\n{count(left_out, 'more diff')}: {others}"


def diff_block(diff: str) -> list[str]:
    """Return the lines of a code block with a diff, fenced by more backticks than it contains."""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(diff)), default=0))
    lines = map(escape_line, diff.removesuffix("\n").split("\n"))
    return [f"{fence}diff", *lines, fence]


def code(text: str) -> str:
    """Return `text` as a code span, delimited by enough backticks to contain it."""
    shown = escape_line(text)
    longest = max(map(len, _TICKS.findall(shown)), default=0)
    ticks = "`" * (longest + 1)
    return f"{ticks} {shown} {ticks}" if longest else f"{ticks}{shown}{ticks}"


def escape_markdown(text: str) -> str:
    """Return `text` escaped for Markdown.

    Text that contains `@` becomes a code span, so that it cannot mention a user.
    """
    if "@" in text:
        return code(text)
    return _ACTIVE.sub(r"\\\1", escape_line(text))
