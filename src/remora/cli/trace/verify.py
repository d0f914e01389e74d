"""The `trace verify` command."""

from pathlib import Path

import click

from remora.cli.app.name_parameters import STREAM
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit
from remora.cli.app.project_context import records_of


@command(
    "verify",
    examples=(
        "remora trace verify",
        "remora trace verify lint-3f2a --json",
        "remora trace verify elsewhere/debug-1.jsonl",
    ),
)
@click.argument("agent", metavar="[AGENT_OR_FILE]", type=STREAM, required=False)
@click.option("--all", "every", is_flag=True, help="Verify all streams (default).")
def verify(options: Options, agent: str | None, *, every: bool) -> int:
    """Verify streams: hashes, folds, prompts, contents, and each agent against its run.

    AGENT_OR_FILE is an agent or a run, or a file AGENT_ID.jsonl with an agent's stream.
    This command only reads files, and does not use any model, tool or the Hub. Exit with 1 if
    anything differs from what was written. In this case, the affected line is shown. See
    docs/reference/verify.md.
    """
    from remora.cli.views.verification_view import report_lines
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.trace_folder import COMPRESSED_SUFFIX, STREAM_SUFFIX
    from remora.trace.verify.folder_check import verify_all

    if agent is not None and every:
        raise click.UsageError("use either AGENT_OR_FILE or --all")
    folder = records_of(options)
    is_file = agent is not None and agent.endswith((STREAM_SUFFIX, COMPRESSED_SUFFIX))
    name = agent and (Path(agent) if is_file else stream_named(folder, agent))
    report = verify_all(folder, name)
    emit(options, report.as_json(), report_lines(report, verbose=options.verbose))
    return 0 if report.ok else 1
