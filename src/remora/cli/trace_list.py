"""`trace list`: the agents' streams, or those of them that fit, with the turns that do."""

from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec

from remora.cli.jobs import status_word
from remora.cli.options import Options, command
from remora.cli.output import count, emit, ending, room, table
from remora.cli.session import records_of
from remora.cli.trace_records import queries_of
from remora.runs.names import run_named
from remora.trace import TraceFolder, list_streams
from remora.trace.store_queries import Found, Query

_NODE = 3
_RUN = len("20260131-093000")
"""The beginning of a run's name, which will do for a command."""
_STATUSES = ("submitted", "no_change", "failed", "error", "interrupted", "running", "damaged")
_TURN_HEADS = ("AGENT", "TURN", "TOOL", "OUTCOME", "BY", "TOKENS", "MS")


@command(
    "list",
    examples=(
        "remora trace list",
        "remora trace list --run last --status failed",
        "remora trace list --tool apply_fix --outcome error --since 2d",
        "remora trace list --text 'No such file' --json",
    ),
)
@click.option("--run", metavar="RUN", help="Of one run.")
@click.option("--node", metavar="GLOB", help="Of the nodes that match.")
@click.option("-o", "--operation", metavar="NAME", help="Of one operation.")
@click.option("--status", type=click.Choice(_STATUSES), help="What became of the agent.")
@click.option(
    "--outcome", type=click.Choice(("success", "partial", "error")), help="Turns that ended so."
)
@click.option("--tool", metavar="NAME", help="Turns that called it.")
@click.option(
    "--decided-by",
    type=click.Choice(("rule", "model", "fallback", "escalation")),
    help="Turns that were decided so.",
)
@click.option("--since", metavar="TIME", help="2026-11-20, RFC 3339, or ago: 90s 15m 2h 3d 1w.")
@click.option("--until", metavar="TIME", help="Likewise.")
@click.option("--text", metavar="TEXT", help="Turns whose record holds it, in any case.")
def list_(options: Options, **asked: str | None) -> int:
    """List the agents' streams, those of the newest run last; with -v their sizes too.

    With --outcome, --tool, --decided-by, --since, --until or --text: the turns that fit.
    """
    folder = records_of(options)
    query = _query(folder, asked)
    if query == Query():
        found = [Found(stream=stream) for stream in list_streams(folder)]
    else:
        found = queries_of(options, folder).find(query)
    of_turns = query.of_turns()
    document = {"streams": [_document(one, of_turns=of_turns) for one in found]}
    if of_turns:
        emit(options, document, _turns(found, verbose=options.verbose))
    else:
        emit(options, document, _streams(document["streams"], query, verbose=options.verbose))
    return 0


def _query(folder: TraceFolder, asked: dict[str, str | None]) -> Query:
    run = asked["run"]
    return Query(**{**asked, "run": None if run is None else run_named(folder, run)})


def _document(found: Found, *, of_turns: bool) -> dict[str, Any]:
    built = msgspec.structs.asdict(found.stream)
    return {**built, "matches": msgspec.to_builtins(found.turns)} if of_turns else built


def _turns(found: Sequence[Found], *, verbose: bool) -> Iterator[str]:
    rows: list[list[object]] = []
    for one in found:
        for turn in one.turns:
            what = [one.stream.agent_id, turn.turn, turn.tool, turn.outcome, turn.decided_by]
            numbers = ["" if n is None else n for n in (turn.prompt_tokens, turn.ms)]
            rows.append([*what, *numbers, *([turn.key or ""] if verbose else ())])
    if not rows:
        yield "no turn fits"
        return
    yield from table((*_TURN_HEADS, *(("KEY",) if verbose else ())), rows)
    yield f"{count(len(rows), 'turn')} of {count(len(found), 'stream')}"


def _streams(streams: list[dict[str, Any]], query: Query, *, verbose: bool) -> Iterator[str]:
    if not streams:
        fits = query == Query()
        yield "no streams yet; `remora analyze` writes them" if fits else "no stream fits"
        return
    names = ["status", "agent_id", "run_id", "node_id", "turns"]
    names += ["events", "bytes"] if verbose else []
    rows = []
    for stream in sorted(streams, key=lambda stream: stream["run_id"]):
        words = {
            "status": status_word(stream["status"]),
            "run_id": stream["run_id"] if verbose else stream["run_id"][:_RUN],
            "node_id": stream["node_id"].removeprefix("node:"),
        }
        rows.append([{**stream, **words}[name] for name in names])
    heads = [name.removesuffix("_id").upper() for name in names]
    _fit_nodes(heads, rows)
    yield from table(heads, rows)


def _fit_nodes(heads: list[str], rows: list[list[Any]]) -> None:
    """Nodes give way where the terminal is narrow: their ends tell more than their beginnings."""
    width = room()
    if width is None:
        return
    columns = zip(*([len(str(cell)) for cell in row] for row in (heads, *rows)), strict=True)
    others = sum(max(column) + 2 for c, column in enumerate(columns) if c != _NODE)
    for row in rows:
        row[_NODE] = ending(row[_NODE], max(20, width - others))
