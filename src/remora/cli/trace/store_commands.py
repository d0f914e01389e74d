"""The `trace get` and `trace import` commands, which use the configured store."""

from pathlib import Path

import click

from remora.cli.app.options import PATH, Options, command
from remora.cli.app.output import emit, print_json
from remora.cli.app.project_context import project_of, records_of
from remora.text import count, escape_line


@command(
    "get",
    examples=(
        "remora trace get index:node:node:src/shop/cart.py:total",
        "remora trace get index:operation:lint --json",
        "remora trace get trace:20261120-093000-3f2a1c:lint:node:cart.py:total:2",
    ),
)
@click.argument("key")
def get(options: Options, key: str) -> int:
    """Print the recorded entry of a key, or the keys of an index.

    trace:RUN:OPERATION:NODE:TURN is the tool result of a turn, recorded by the newest agent for
    that node. Append #2 for a second result of the turn, or @AGENT for another agent.
    index:node:NODE, index:run:RUN and index:operation:NAME list these keys. Names in a key cannot
    be abbreviated, and NODE has to start with node:. `remora trace list --tool NAME -v` prints
    keys.
    """
    from remora.trace.search.stream_search import StreamSearch

    found = StreamSearch(records_of(options)).get(key)
    if isinstance(found, list):
        emit(options, found, map(escape_line, found) if found else ["no entries"])
    else:
        print_json(found)
    return 0


@command(
    "import", examples=("remora trace import run.jsonl", "remora trace import ../other/.agentfs")
)
@click.argument("sources", type=PATH, nargs=-1, required=True, metavar="SOURCE...")
def import_(options: Options, sources: tuple[Path, ...]) -> int:
    """Add streams to the configured store, byte for byte.

    SOURCE is a folder of streams with their blobs and objects, such as .agentfs or one written by
    `trace export --format folder`, or a file with the lines of streams alone, as written by
    `trace export --format jsonl`. Use it to move the history of a project into a database
    (trace_store: postgres), or out of it.

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
