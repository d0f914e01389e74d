"""The `trace verify` command, and `trace anchor`, which prints heads to store elsewhere."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.name_parameters import RUN, STREAM
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, print_error, print_json
from remora.cli.app.project_context import records_of
from remora.cli.trace.stream_arguments import signer_of
from remora.errors import DiskError, StreamDamaged, UsageError
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.trace.verify.anchor_file import SavedAnchor

_MAX_CHARACTERS = 100_000_000
"""Maximum characters of an anchor file: about half a million streams."""


@command(
    "verify",
    examples=(
        "remora trace verify",
        "remora trace verify lint-3f2a --json",
        "remora trace verify --anchors kept-elsewhere.txt",
        "remora trace verify --anchors - < kept-elsewhere.txt",
    ),
)
@click.argument("agent", type=STREAM, required=False)
@click.option("--all", "every", is_flag=True, help="Verify all streams (default).")
@click.option(
    "--anchors", metavar="FILE", help="Compare with the output of `trace anchor`; - is stdin."
)
def verify(options: Options, agent: str | None, *, every: bool, anchors: str | None) -> int:
    """Verify streams: hashes, folds, prompts, contents, and each agent against its run.

    This command only reads files, and does not use any model, tool or the Hub. Exit with 1 if
    anything differs from what was written. In this case, the affected line is shown. If you have a
    signing key (REMORA_SIGNING_KEY, or runner.memory.signing_key_file in your own configuration),
    the anchors of signed runs are also checked. See docs/reference/verify.md.
    """
    from remora.cli.views.verification_view import report_lines
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.verify.folder_check import verify_all

    if agent is not None and every:
        raise click.UsageError("use either AGENT or --all")
    folder = records_of(options)
    name = None if agent is None else stream_named(folder, agent)
    saved = [] if anchors is None else _read(anchors)
    report = verify_all(folder, name, saved=saved, signer=signer_of(options))
    emit(options, report.as_json(), report_lines(report, verbose=options.verbose, saved=len(saved)))
    return 0 if report.ok else 1


@command(
    "anchor",
    examples=(
        "remora trace anchor > kept-elsewhere.txt",
        "remora trace anchor --run last | ssh vault 'cat >> anchors.txt'",
    ),
)
@click.option("--run", type=RUN, metavar="RUN", help="Print only the heads of this run.")
def anchor(options: Options, run: str | None) -> int:
    """Print the head of every stream: agent|run ID COUNT HASH.

    Store the output where nobody with write access to this machine can change it. `trace verify
    --anchors` can then detect if a stream was truncated, rewritten or removed. If you have a
    signing key, each line ends with a signature. Streams with invalid hashes are reported instead
    of anchored. In this case, the exit code is 1.
    """
    from remora.runs.records.name_lookup import run_named
    from remora.trace.trace_folder import stream_id
    from remora.trace.verify.anchor_file import anchor_of, streams_to_anchor

    folder = records_of(options)
    run_id = None if run is None else run_named(folder, run)
    signer = signer_of(options)
    found: list[SavedAnchor] = []
    damaged: list[dict[str, Any]] = []
    for kind, path in streams_to_anchor(folder, run_id):
        try:
            found.append(anchor_of(path, kind, signer))
        except (StreamDamaged, DiskError) as error:
            damaged.append({"kind": kind, "id": stream_id(path), "detail": error.message})
            print_error(error.code, error.message, error.hint, as_json=False)
        else:
            if not options.json:
                click.echo(escape_line(found[-1].line))
    if options.json:
        document = {"anchors": [one.as_json() for one in found]}
        print_json({**document, "damaged": damaged} if damaged else document)
    return 1 if damaged else 0


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
