"""Shows the result of a verification: the problems found, and what was checked."""

from collections.abc import Iterator

import click

from remora.cli.app.output import terminal_width, wrapped
from remora.text import clip, count, escape_line
from remora.trace.verify.verify_report import StreamReport, VerifyReport

_FEW = 3


def report_lines(report: VerifyReport, *, verbose: bool) -> Iterator[str]:
    """Yield all problems. Intact streams are also listed if there are few, or with `-v`."""
    each = verbose or len(report.streams) <= _FEW
    for stream in report.streams:
        if each or not stream.ok:
            yield _stream(stream)
        for problem in stream.problems:
            yield from wrapped(f"  line {problem.line}: {problem.kind}: {problem.detail}", "    ")
    if not report.streams:
        yield "no streams yet; run `remora analyze` to create some"
        return
    lines = sum(stream.head.count for stream in report.streams)
    looked = f"{count(len(report.streams), 'stream')}, {count(lines, 'line')}"
    bad = sum(not stream.ok for stream in report.streams)
    if bad:
        yield click.style(f"{count(bad, 'stream')} with problems among {looked}", fg="red")
    else:
        yield click.style("verified: ", fg="green") + looked + _unanchored(report)


def _stream(stream: StreamReport) -> str:
    state = click.style("ok ", fg="green") if stream.ok else click.style("BAD", fg="red")
    kind = "run" if stream.of_run else "agent"
    text = f"{kind} {escape_line(stream.name)}  head {stream.head.count} {stream.head.hash}"
    width = terminal_width()  # cut on narrow terminals; --json prints whole hashes
    return f"{state}  {text if width is None else clip(text, width - 5)}"


def _unanchored(report: VerifyReport) -> str:
    """Return a note about streams whose end is not anchored, or an empty string."""
    loose = sum(stream.anchored is False for stream in report.streams)
    return f"; {loose:,} not finished (running or interrupted)" if loose else ""
