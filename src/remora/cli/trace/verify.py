"""The `trace verify` command."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from remora.cli.app.name_parameters import STREAM
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit
from remora.cli.app.project_context import records_of
from remora.cli.trace.stream_arguments import signer_of
from remora.errors import UsageError

if TYPE_CHECKING:
    from remora.trace.verify.anchor_file import SavedAnchor

_MAX_CHARACTERS = 100_000_000
"""Maximum characters of an anchor file: about half a million streams."""


@command(
    "verify",
    examples=(
        "remora trace verify",
        "remora trace verify lint-3f2a --json",
        "remora trace verify elsewhere/debug-1.jsonl",
        "remora trace verify --anchors kept-elsewhere.txt",
        "remora trace verify --anchors - < kept-elsewhere.txt",
    ),
)
@click.argument("agent", metavar="[AGENT_OR_FILE]", type=STREAM, required=False)
@click.option("--all", "every", is_flag=True, help="Verify all streams (default).")
@click.option(
    "--anchors", metavar="FILE", help="Compare with the output of `trace anchor`; - is stdin."
)
def verify(options: Options, agent: str | None, *, every: bool, anchors: str | None) -> int:
    """Verify streams: hashes, folds, prompts, contents, and each agent against its run.

    AGENT_OR_FILE is an agent or a run, or a file AGENT_ID.jsonl with an agent's stream.
    This command only reads files, and does not use any model, tool or the Hub. Exit with 1 if
    anything differs from what was written. In this case, the affected line is shown. If you have a
    signing key (REMORA_SIGNING_KEY, or runner.memory.signing_key_file in your own configuration),
    the anchors of signed runs are also checked. See docs/reference/verify.md.
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
    saved = [] if anchors is None else _read(anchors)
    report = verify_all(folder, name, saved=saved, signer=signer_of(options))
    emit(options, report.as_json(), report_lines(report, verbose=options.verbose, saved=len(saved)))
    return 0 if report.ok else 1


def _read(name: str) -> "list[SavedAnchor]":
    from remora.trace.verify.anchor_file import parse_anchors

    try:
        if name == "-":
            return parse_anchors(sys.stdin.read(_MAX_CHARACTERS))
        with Path(name).open(encoding="utf-8") as file:
            return parse_anchors(file.read(_MAX_CHARACTERS))
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not an anchor file", hint="see `trace anchor`") from error
    except OSError as error:
        raise UsageError(
            f"{name}: {error.strerror}", hint="use --anchors with a file, or - for stdin"
        ) from error
