"""The `trace list` command, which lists streams."""

from collections.abc import Iterator
from typing import Any

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, table
from remora.cli.app.project_context import note_invalid_names, trace_folder_of
from remora.ids import NodeKey, display_name
from remora.statuses import DAMAGED, RUNNING, STATUSES, proven_text
from remora.text import clip

_RUN_WIDTH = len("20260131-093000")
"""Length of a run prefix that is usually unique."""
_MAX_ID = 64
"""Length of the longest valid ID. A forged event can have a longer one."""


@command(
    "list",
    examples=(
        "remora trace list",
        "remora trace list --run last --status failed",
        "remora trace list --node 'src/shop/cart.py:*'",
    ),
)
@click.option("--run", metavar="RUN", help="Show only streams of this run.")
@click.option("--node", metavar="GLOB", help="Show only streams of matching nodes.")
@click.option("-o", "--operation", metavar="NAME", help="Show only streams of this operation.")
@click.option(
    "--status",
    type=click.Choice((*STATUSES, RUNNING, DAMAGED)),
    help="Show only agents with this status.",
)
def list_(
    options: Options,
    *,
    run: str | None,
    node: str | None,
    operation: str | None,
    status: str | None,
) -> int:
    """List the streams of agents, sorted by run and node, with the newest run last.

    With -v, sizes are also shown.
    """
    import msgspec

    from remora.code.syntax.node_patterns import match_nodes
    from remora.runs.records.name_lookup import run_named
    from remora.trace.read.reader import list_streams

    folder = trace_folder_of(options)
    run = None if run is None else run_named(folder, run)
    infos = list_streams(folder)
    note_invalid_names(options, folder)
    nodes = {NodeKey(info.node_id) for info in infos}
    meant = nodes if node is None else set(match_nodes(nodes, node))
    found = [
        info
        for info in infos
        if info.node_id in meant
        and run in (None, info.run_id)
        and operation in (None, info.operation)
        and status in (None, info.status)
    ]
    document = {"streams": [msgspec.structs.asdict(info) for info in found]}
    empty = "no matching streams" if infos else "no streams yet; run `remora analyze`"
    emit(options, document, _stream_lines(document["streams"], empty, verbose=options.verbose))
    return 0


def _stream_lines(streams: list[dict[str, Any]], empty: str, *, verbose: bool) -> Iterator[str]:
    if not streams:
        yield empty
        return
    numbers = ["turns", *(["events", "bytes"] if verbose else [])]
    names = ["status", "agent_id", "run_id", *numbers, "node_id"]
    rows = []
    for stream in sorted(streams, key=lambda stream: (stream["run_id"], stream["node_id"])):
        words = {
            "status": clip(proven_text(stream["status"], None), _MAX_ID),
            "run_id": clip(stream["run_id"], _MAX_ID) if verbose else stream["run_id"][:_RUN_WIDTH],
            "node_id": display_name(stream["node_id"]),
        }
        rows.append([{**stream, **words}[name] for name in names])
    heads = [name.removesuffix("_id").upper() for name in names]
    yield from table(heads, rows)
