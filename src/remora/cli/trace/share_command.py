"""The part of `trace export` that writes share files."""

import sys
from pathlib import Path

import click

from remora.cli.app.entry import output_lost
from remora.cli.app.options import Options
from remora.cli.app.output import emit, note
from remora.cli.app.project_context import project_of
from remora.text import count, escape_line


def export_share_file(options: Options, name: str | None, output: Path | None) -> int:
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
    _write(made.html.encode("utf-8", "replace"), output)
    if output is not None and str(output) != "-":
        size = len(made.html) / 1e6
        line = f"{count(made.agents, 'agent')}, {size:,.1f} MB: {output}"
        document = {
            "format": "html",
            "to": str(output),
            "agents": made.agents,
            "streams": [report.as_json() for report in made.reports],
        }
        emit(options, document, [escape_line(line)])
    for report in made.reports:
        for problem in report.problems[:1]:
            note(options, f"damaged: {report.name}, line {problem.line}: {problem.detail}")
    return 0 if all(report.ok for report in made.reports) else 1


def _write(data: bytes, output: Path | None) -> None:
    from remora.exports.output_file import replace_when_done

    if output is not None and str(output) != "-":
        with replace_when_done(output) as file:
            file.write(data)
        return
    try:
        sys.stdout.buffer.write(data)
    except BrokenPipeError as error:  # the reader closed the pipe
        output_lost(error)
