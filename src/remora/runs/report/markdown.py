"""Run reports in Markdown for pull requests, with collapsed details."""

import re
from collections.abc import Iterable, Iterator

from remora.pictures.markup import escaped
from remora.runs.report.report_layout import JobRow, Layout, layout
from remora.runs.report.report_model import Report
from remora.text import count, escape_line

MAX_DIFFS = 40_000
"""Maximum characters of all diffs. A comment on GitHub may have about 65,000."""
_MAX_UNFOLDED = 20
"""Maximum number of remaining findings that are not collapsed."""
_TICKS = re.compile(r"`+")
_BARE_BAR = re.compile(r"(?<!\\)\|")
_ACTIVE = re.compile(r"([\\`*_\[\]<>#|~&])")


def markdown(report: Report) -> str:
    """Return the report as Markdown. All names and messages from the project are escaped."""
    return "\n".join(_lines(report, layout(report))) + "\n"


def _lines(report: Report, parts: Layout) -> Iterator[str]:
    yield f"## Remora: {escape_markdown(parts.headline)}\n"
    yield f"Run {code(report.run_id)} · {escape_markdown(parts.run)}\n"
    yield escape_markdown(parts.totals)
    yield from (
        ["", *(f"- {escape_markdown(detail)}" for detail in parts.details)] if parts.details else []
    )
    yield from _remaining(parts)
    if parts.jobs:
        header = "| node | result | done | left | decided by |\n|---|---|---|---|---|"
        yield from folded(count(len(parts.jobs), "job"), [header, *map(_row, parts.jobs)])
    yield from _diffs(report.run_id, parts)
    yield "\n<sub>Verify this record with `remora trace verify`; its head is"
    yield f"{escape_markdown(parts.head)}. Remora {escape_markdown(report.version)}</sub>"


def folded(title: str, lines: list[str]) -> list[str]:
    """Return lines that are hidden until a reader unfolds them."""
    return [f"\n<details><summary>{title}</summary>\n", *lines, "\n</details>"]


def _row(row: JobRow) -> str:
    result = escape_markdown(row.state) + (f" on {code(row.job.branch)}" if row.job.branch else "")
    cells = [
        f"{code(row.name)} {escape_markdown(row.job.operation)}",
        result + "".join(f"<br>{escape_markdown(reason)}" for reason in row.reasons),
        *map(escape_markdown, (row.fixed, row.left, row.deciders)),
    ]
    cells = [_BARE_BAR.sub(r"\\|", cell) for cell in cells]  # a bar splits table cells even in code
    return "| " + " | ".join(cells) + " |"


def _remaining(parts: Layout) -> Iterator[str]:
    if not parts.findings and not parts.unreadable:
        return
    yield "\n### Remaining"
    rows = [
        f"- {code(row.place)} {escape_markdown(f'{row.rule} {row.text}'.strip())}"
        for row in parts.findings
    ]
    is_long = len(rows) > _MAX_UNFOLDED
    title = f"{parts.remaining:,} findings left where the run worked"
    yield from folded(title, rows) if is_long else ["", *rows]
    yield from [
        "",
        *(f"- {code(row.place)} {escape_markdown(row.text)}" for row in parts.unreadable),
    ]


def _diffs(run_id: str, parts: Layout) -> Iterator[str]:
    rows = [row for row in parts.jobs if row.diff and row.job.review]
    diffs = [(f"diff of <code>{escaped(row.name)}</code>", row.diff) for row in rows]
    yield from folded_diffs(diffs, code(f"remora diff {run_id}"))


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
