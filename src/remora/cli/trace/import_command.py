"""The `trace import` command, which adds recorded streams to the configured store."""

from pathlib import Path

import click

from remora.cli.app.options import PATH, Options, command
from remora.cli.app.output import emit
from remora.cli.app.project_context import project_of
from remora.text import count, escape_line


@command(
    "import",
    examples=("remora trace import run.jsonl", "remora trace import ../other/.agentfs"),
)
@click.argument("sources", type=PATH, nargs=-1, required=True, metavar="SOURCE...")
def import_(options: Options, sources: tuple[Path, ...]) -> int:
    """Add streams to the configured store, byte for byte.

    SOURCE is a file written by `trace export --format jsonl`, or a folder of streams such as
    .agentfs, whose blobs and objects are added, too. Use it to move the history of a project into
    a database (trace_store: postgres). An exported file has no blobs and objects, so runs that were
    moved out of a database can be read, but not accepted.

    Each hash is checked first. A stream that is already there is continued, and one that differs
    is left as it is. Exit with 1 if any stream was refused.
    """
    import msgspec

    from remora.trace.import_streams import ImportTarget, import_streams

    project = project_of(options)
    project.trace.create()
    target = ImportTarget(project.open_store(), project.trace.blobs, project.trace.objects)
    done = import_streams(sources, target)
    lines = [
        f"imported {count(done.streams, 'stream')} with {count(done.events, 'event')} and "
        f"{count(done.contents, 'blob or object', 'blobs and objects')}; "
        f"{count(done.unchanged, 'stream')} already complete",
        *(escape_line(f"refused: {problem}") for problem in done.problems),
    ]
    emit(options, msgspec.to_builtins(done), lines)
    return 1 if done.problems else 0
