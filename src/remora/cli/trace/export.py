"""The `trace export` command, which exports recorded streams in the formats of other tools."""

import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from remora.cli.app.entry import output_lost
from remora.cli.app.options import PATH, Options, command
from remora.cli.app.output import emit, note, print_json, print_lines, wrapped
from remora.cli.app.project_context import project_of, trace_folder_of
from remora.errors import StreamDamaged, UsageError
from remora.exports.formats import FORMATS, export_chunks
from remora.text import count

if TYPE_CHECKING:
    from remora.exports.run_group import ExportCounts, RunGroup
    from remora.trace.trace_folder import TraceFolder

_HTML = "html"
"""A file for a browser, which needs the whole project and not only its streams."""


@command(
    "export",
    examples=(
        "remora trace export lint-3f2a --format html -o agent.html",
        "remora trace export --run last --format otel -o spans.jsonl",
        "remora trace export --all --format sft -o rows.jsonl",
        "remora trace export --run last --format jsonl -o run.jsonl",
    ),
)
@click.argument("agent", required=False)
@click.option("--run", "run", metavar="RUN", help="Export a run and all its agents.")
@click.option("--all", "every", is_flag=True, help="Export all runs and agents.")
@click.option(
    "--format", "form", type=click.Choice((_HTML, *FORMATS)), required=True, help="Output format."
)
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="FILE",
    help="Write to this file (mode 0600). [default: stdout]",
)
@click.option(
    "--content", is_flag=True, help="otel: include prompts, answers, arguments and outputs."
)
def export(  # noqa: PLR0913 (one parameter for each option)
    options: Options,
    agent: str | None,
    *,
    run: str | None,
    every: bool,
    form: str,
    output: Path | None,
    content: bool,
) -> int:
    """Export an agent, a run or everything in the format of another tool.

    The html format is one file that shows an agent or a run in a browser, without a network: turns,
    packets, prompts, diffs, and the recorded lines, which the browser checks against their hashes.
    It needs the extra ui. The jsonl format is the recorded lines alone, byte for byte. The otel
    format contains OpenTelemetry GenAI spans as OTLP JSON lines. The sft and functiongemma formats
    are JSON lines with exactly the prompts that were sent to models. docs/reference/exports.md
    lists the columns.

    Exit with 1 if a stream cannot be read. The other streams are still written.
    """
    from remora.exports.run_group import ExportCounts

    if sum((agent is not None, run is not None, every)) != 1:
        raise click.UsageError("use exactly one of AGENT, --run RUN and --all")
    if content and (form == _HTML or not FORMATS[form].has_content):
        raise click.UsageError("--content requires --format otel")
    output = None if str(output) == "-" else output
    if output is None and options.json:
        raise click.UsageError(
            "--json prints only a summary; write the export to a file with -o FILE"
        )
    if form == _HTML:
        return _export_share_file(options, agent or run, output)
    folder = trace_folder_of(options)
    groups = _select_groups(folder, agent, run)
    tally = ExportCounts()
    _write_chunks(export_chunks(folder, groups, form, tally, content=content), output)
    _print_summary(options, form, str(output or "stdout"), tally)
    return 1 if tally.damaged else 0


def _select_groups(
    folder: "TraceFolder", agent: str | None, run: str | None
) -> "Callable[[], Iterable[RunGroup | StreamDamaged]]":
    from remora.exports.run_group import all_groups, group_of_agent, group_of_run
    from remora.runs.records.name_lookup import run_named, stream_named
    from remora.trace.trace_folder import stream_id

    if agent is None and run is None:
        return lambda: all_groups(folder)
    if agent is not None:
        name = stream_named(folder, agent)
        if name not in map(stream_id, folder.run_streams()):
            found = group_of_agent(folder, name)
            return lambda: (found,)
        run = name
    group = group_of_run(folder, run_named(folder, run or ""))
    return lambda: (group,)


def _write_chunks(chunks: Iterable[bytes], output: Path | None) -> None:
    """Write to a file that is replaced when it is complete, or to stdout."""
    if output is not None:
        with replace_when_done(output) as file:
            file.writelines(chunks)
        return
    try:
        sys.stdout.buffer.writelines(chunks)
    except BrokenPipeError as error:  # the reader closed the pipe
        output_lost(error)


@contextmanager
def replace_when_done(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` on success and is removed on failure.

    Outside the project, links are followed, and pipes and devices are written directly. Raises
    DiskError if the file cannot be written, and UsageError if `path` is a folder.
    """
    from remora.files.project_root import find_root
    from remora.regular_file import opened_parent
    from remora.trace.content.private_files import FILE_MODE, disk_errors

    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="choose a file")
    with disk_errors(path), opened_parent(path, find_root(Path.cwd())) as (folder, name):
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        temporary = f".{name[:32]}-{secrets.token_hex(4)}{path.suffix}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        handle = os.open(temporary, flags, FILE_MODE, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                os.fchmod(file.fileno(), FILE_MODE)
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)


def _print_summary(options: Options, form: str, to: str, tally: "ExportCounts") -> None:
    if options.json:
        document = {"format": form, "to": to, "streams": tally.streams, "records": tally.records}
        rest = {"left_out": tally.left_out, "damaged": tally.damaged}
        print_json({**document, "operations": tally.operations, **rest})
    elif to != "stdout":
        written = count(tally.records, FORMATS[form].record)
        source = count(tally.streams, FORMATS[form].source)
        by_operation = ", ".join(f"{name} {number:,}" for name, number in tally.operations.items())
        print_lines(wrapped(f"{written} from {source}: {to}"))
        if by_operation:
            print_lines(wrapped(by_operation))
    elif not tally.records:
        note(
            options,
            f"{FORMATS[form].record}s: none in {count(tally.streams, FORMATS[form].source)}",
        )
    for reason, number in sorted(tally.left_out.items()):
        note(options, f"left out: {number:,} {reason}")
    for message in tally.damaged:
        note(options, f"skipped: {message}; see `remora trace verify`")


def _export_share_file(options: Options, name: str | None, output: Path | None) -> int:
    """Write an agent or a run as one HTML file. Exit with 1 if a stream in it is damaged."""
    from remora.bootstrap.open_trace import require_extra
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.trace_folder import stream_id

    if name is None:
        raise click.UsageError("a share file has one agent or one run; name it, such as --run last")
    require_extra("jinja2", "ui")
    require_extra("starlette", "ui")
    from remora.web.share.share_file import share_agent, share_run

    project = project_of(options)
    found = stream_named(project.trace, name)
    is_run = found in map(stream_id, project.trace.run_streams())
    made = (share_run if is_run else share_agent)(project, found)
    _write_chunks([made.html.encode("utf-8", "replace")], output)
    if output is not None:
        size = len(made.html) / 1e6
        line = f"{count(made.agents, 'agent')}, {size:,.1f} MB: {output}"
        document = {
            "format": "html",
            "to": str(output),
            "agents": made.agents,
            "streams": [report.as_json() for report in made.reports],
        }
        emit(options, document, wrapped(line))
    for report in made.reports:
        for problem in report.problems[:1]:
            note(options, f"damaged: {report.name}, line {problem.line}: {problem.detail}")
    return 0 if all(report.ok for report in made.reports) else 1
