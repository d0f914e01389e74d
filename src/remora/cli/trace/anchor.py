"""The `trace anchor` command, which prints heads to store elsewhere."""

from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.name_parameters import RUN
from remora.cli.app.options import Options, command
from remora.cli.app.output import print_failure, print_json
from remora.cli.app.project_context import records_of
from remora.cli.trace.stream_arguments import signer_of
from remora.errors import DiskError, StreamDamaged
from remora.text import escape_line

if TYPE_CHECKING:
    from remora.trace.verify.anchor_file import SavedAnchor


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
            print_failure(error)
        else:
            if not options.json:
                click.echo(escape_line(found[-1].line))
    if options.json:
        document = {"anchors": [one.as_json() for one in found]}
        print_json({**document, "damaged": damaged} if damaged else document)
    return 1 if damaged else 0
