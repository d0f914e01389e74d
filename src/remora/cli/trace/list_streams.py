"""The `trace list` command, which lists streams or matching turns."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from remora.cli.app.name_parameters import OPERATION, RUN
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, table
from remora.cli.app.project_context import records_of
from remora.ids import display_name
from remora.statuses import DAMAGED, RUNNING, STATUSES, status_text
from remora.text import clip, count

if TYPE_CHECKING:
    from remora.trace.search.turn_filter import StreamMatch, StreamQuery

_RUN_WIDTH = len("20260131-093000")
"""Length of a run prefix that is usually unique."""
_MAX_ID = 64
"""Length of the longest valid ID. A forged event can have a longer one."""
_TURN_HEADS = ("AGENT", "TURN", "TOOL", "OUTCOME", "BY", "TOKENS", "MS")


@command(
    "list",
    examples=(
        "remora trace list",
        "remora trace list --run last --status failed",
        "remora trace list --tool fix_findings --outcome error --since 2d",
    ),
)
@click.option("--run", type=RUN, metavar="RUN", help="Show only streams of this run.")
@click.option("--node", metavar="GLOB", help="Show only streams of matching nodes.")
@click.option(
    "-o", "--operation", type=OPERATION, metavar="NAME", help="Show only streams of this operation."
)
@click.option(
    "--status",
    type=click.Choice((*STATUSES, RUNNING, DAMAGED)),
    help="Show only agents with this status.",
)
@click.option(
    "--outcome",
    type=click.Choice(("success", "partial", "error")),
    help="Show only turns with this outcome.",
)
@click.option("--tool", metavar="NAME", help="Show only turns that called this tool.")
@click.option(
    "--decided-by",
    type=click.Choice(("rule", "model", "fallback", "escalation")),
    help="Show only turns decided by this method.",
)
@click.option(
    "--since",
    metavar="TIME",
    help="Show only turns since this date, RFC 3339 time or age (15m, 2h, 3d).",
)
@click.option(
    "--until", metavar="TIME", help="Show only turns up to this time; same formats as --since."
)
def list_(  # noqa: PLR0913 (one parameter for each option)
    options: Options,
    *,
    run: str | None,
    node: str | None,
    operation: str | None,
    status: str | None,
    outcome: str | None,
    tool: str | None,
    decided_by: str | None,
    since: str | None,
    until: str | None,
) -> int:
    """List the streams of agents, sorted by run and node, with the newest run last.

    With -v, sizes are also shown. With --outcome, --tool, --decided-by, --since or --until, list
    the matching turns instead.
    """
    from remora.runs.records.name_lookup import run_named
    from remora.trace.search.stream_search import StreamSearch
    from remora.trace.search.turn_filter import StreamQuery

    folder = records_of(options)
    query = StreamQuery(
        run=None if run is None else run_named(folder, run),
        node=node,
        operation=operation,
        status=status,
        outcome=outcome,
        tool=tool,
        decided_by=decided_by,
        since=since,
        until=until,
    )
    found = StreamSearch(folder).find(query)
    of_turns = query.of_turns()
    document = {"streams": [_document(one, of_turns=of_turns) for one in found]}
    if of_turns:
        emit(options, document, _turns(found, verbose=options.verbose))
    else:
        emit(options, document, _streams(document["streams"], query, verbose=options.verbose))
    return 0


def _document(found: "StreamMatch", *, of_turns: bool) -> dict[str, Any]:
    import msgspec

    built = msgspec.structs.asdict(found.stream)
    return {**built, "matches": msgspec.to_builtins(found.turns)} if of_turns else built


def _turns(found: "Sequence[StreamMatch]", *, verbose: bool) -> Iterator[str]:
    rows: list[list[object]] = []
    for one in sorted(found, key=lambda one: (one.stream.run_id, one.stream.node_id)):
        for turn in one.turns:
            what = [one.stream.agent_id, turn.turn, turn.tool, turn.outcome, turn.decided_by]
            numbers = ["" if n is None else n for n in (turn.prompt_tokens, turn.ms)]
            where = (turn.key or "") if verbose else display_name(one.stream.node_id)
            rows.append([*what, *numbers, where])
    if not rows:
        yield "no matching turns"
        return
    heads = [*_TURN_HEADS, "KEY" if verbose else "NODE"]
    yield from table(heads, rows)
    yield f"{count(len(rows), 'turn')} in {count(len(found), 'stream')}"


def _streams(
    streams: list[dict[str, Any]], query: "StreamQuery", *, verbose: bool
) -> Iterator[str]:
    from remora.trace.search.turn_filter import StreamQuery

    if not streams:
        fits = query == StreamQuery()
        yield (
            "no streams yet; run `remora analyze` to create some" if fits else "no matching streams"
        )
        return
    numbers = ["turns", *(["events", "bytes"] if verbose else [])]
    names = ["status", "agent_id", "run_id", *numbers, "node_id"]
    rows = []
    for stream in sorted(streams, key=lambda stream: (stream["run_id"], stream["node_id"])):
        words = {
            "status": clip(status_text(stream["status"]), _MAX_ID),
            "run_id": clip(stream["run_id"], _MAX_ID) if verbose else stream["run_id"][:_RUN_WIDTH],
            "node_id": display_name(stream["node_id"]),
        }
        rows.append([{**stream, **words}[name] for name in names])
    heads = [name.removesuffix("_id").upper() for name in names]
    yield from table(heads, rows)
