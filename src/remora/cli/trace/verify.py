"""The `trace verify` command."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, terminal_width, wrapped
from remora.cli.app.project_context import trace_folder_of
from remora.text import clip, count, escape_line

if TYPE_CHECKING:
    from remora.trace.verify.verify_report import StreamReport, VerifyReport

_FEW = 3


@command(
    "verify",
    examples=(
        "remora trace verify",
        "remora trace verify lint-3f2a --json",
        "remora trace verify elsewhere/debug-1.jsonl",
    ),
)
@click.argument("agent", metavar="[AGENT_OR_FILE]", required=False)
@click.option("--all", "every", is_flag=True, help="Verify all streams (default).")
def verify(options: Options, agent: str | None, *, every: bool) -> int:
    """Verify streams: hashes, folds, prompts, contents, and each agent against its run.

    AGENT_OR_FILE is an agent or a run, or a file AGENT_ID.jsonl with an agent's stream.
    This command only reads files, and does not use any model, tool or the Hub. Exit with 1 if
    anything differs from what was written. In this case, the affected line is shown. See
    docs/reference/verify.md.
    """
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.trace_folder import COMPRESSED_SUFFIX, STREAM_SUFFIX
    from remora.trace.verify.folder_check import verify_all

    if agent is not None and every:
        raise click.UsageError("use either AGENT_OR_FILE or --all")
    folder = trace_folder_of(options)
    is_file = agent is not None and agent.endswith((STREAM_SUFFIX, COMPRESSED_SUFFIX))
    name = agent and (Path(agent) if is_file else stream_named(folder, agent))
    report = verify_all(folder, name)
    emit(options, report.as_json(), _report_lines(report, verbose=options.verbose))
    return 0 if report.ok else 1


def _report_lines(report: "VerifyReport", *, verbose: bool) -> Iterator[str]:
    """Yield all problems. Intact streams are also listed if there are few, or with `-v`."""
    each = verbose or len(report.streams) <= _FEW
    for stream in report.streams:
        if each or not stream.ok:
            yield _stream_line(stream)
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
        loose = sum(stream.anchored is False for stream in report.streams)
        unended = f"; {loose:,} not finished (running or interrupted)" if loose else ""
        yield click.style("proven: ", fg="green") + looked + unended


def _stream_line(stream: "StreamReport") -> str:
    state = click.style("ok ", fg="green") if stream.ok else click.style("BAD", fg="red")
    kind = "run" if stream.of_run else "agent"
    text = f"{kind} {escape_line(stream.name)}  head {stream.head.count} {stream.head.hash}"
    width = terminal_width()  # cut on narrow terminals; --json prints whole hashes
    return f"{state}  {text if width is None else clip(text, width - 5)}"
