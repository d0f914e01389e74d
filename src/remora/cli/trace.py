"""The Long Track: `trace list`, `show`, `packet`, `verify` and `transcript`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from remora.cli.gist import gist
from remora.cli.jobs import status_word
from remora.cli.options import Options, command, group
from remora.cli.output import emit, ending, print_json, room, table
from remora.cli.session import records_of
from remora.cli.turn import turn_lines
from remora.cli.verdict import report_lines
from remora.memory.packet import packet_json
from remora.runs.names import stream_named
from remora.runs.turn import event_document, turn_document
from remora.trace import TraceFolder, list_streams, packet_at, read_events, read_lines
from remora.trace import transcript as transcript_of
from remora.trace.verify import verify_all

_TURN = click.IntRange(min=0)
_NODE = 3
_RUN = len("20260131-093000")
"""The beginning of a run's name, which will do for a command."""


@command("list", examples=("remora trace list", "remora trace list --json"))
def list_(options: Options) -> int:
    """List the agents' streams, those of the newest run last; with -v their sizes too."""
    streams = list_streams(records_of(options))
    document = {"streams": [msgspec.structs.asdict(stream) for stream in streams]}
    emit(options, document, _listed(document["streams"], verbose=options.verbose))
    return 0


@command(
    "show",
    examples=(
        "remora trace show lint-3f2a",
        "remora trace show src/shop/cart.py:total --turn 3",
        "remora trace show lint-3f2a --raw",
    ),
)
@click.argument("agent")
@click.option("--turn", type=_TURN, metavar="N", help="One turn: packet beside raw output.")
@click.option("--raw", is_flag=True, help="The lines as they were recorded, byte for byte.")
def show(options: Options, agent: str, *, turn: int | None, raw: bool) -> int:
    """Show an agent's (or a run's) events, one to a line.

    With --turn N: the packet that turn N was decided on beside the tool's raw output.
    """
    folder = records_of(options)
    name = stream_named(folder, agent)
    if raw:
        _print_raw(options, folder, name, turn)
    elif turn is not None:
        document = turn_document(folder, name, turn)
        emit(options, document, turn_lines(document))
    else:
        events = list(read_events(_path(folder, name)))
        document = {"agent_id": name, "events": [event_document(event) for event in events]}
        rows = [[event.seq, event.turn, event.type, gist(event)] for event in events]
        emit(options, document, table(("SEQ", "TURN", "EVENT", ""), rows))
    return 0


@command(
    "packet",
    examples=("remora trace packet lint-3f2a --turn 3", "remora trace packet lint-3f2a --full"),
)
@click.argument("agent")
@click.option("--turn", type=_TURN, metavar="N", help="Which turn; the last one if not given.")
@click.option("--full", is_flag=True, help="Before it was trimmed to the limit.")
def packet(options: Options, agent: str, *, turn: int | None, full: bool) -> int:
    """Print the Decision Packet as shown for turn N's decision, as JSON."""
    folder = records_of(options)
    events = list(read_events(_path(folder, stream_named(folder, agent))))
    number = events[-1].turn if turn is None and events else turn or 0
    print_json(packet_json(packet_at(events, number, shown=not full)))
    return 0


@command("verify", examples=("remora trace verify", "remora trace verify lint-3f2a --json"))
@click.argument("agent", required=False)
@click.option("--all", "every", is_flag=True, help="Every stream; so it is without AGENT.")
def verify(options: Options, agent: str | None, *, every: bool) -> int:
    """Verify streams: hashes, folds, prompts, contents, and each agent against its run.

    Only reads. Exit 1 if anything is not what was written; the line is named.
    """
    if agent is not None and every:
        raise click.UsageError("either AGENT or --all")
    folder = records_of(options)
    report = verify_all(folder, None if agent is None else stream_named(folder, agent))
    emit(options, report.as_json(), report_lines(report, verbose=options.verbose))
    return 0 if report.ok else 1


@command("transcript", examples=("remora trace transcript total",))
@click.argument("agent")
def transcript(options: Options, agent: str) -> int:
    """Tell an agent's stream as people read it: asked, decided, done."""
    folder = records_of(options)
    name = stream_named(folder, agent)
    lines = transcript_of(read_events(_path(folder, name)))
    if options.json:
        print_json({"agent_id": name, "lines": list(lines)})
        return 0
    for line in lines:
        click.echo(line)
    return 0


trace = group(
    "trace",
    """Look into the Long Track: the append-only record of every agent and every run.

    AGENT is an agent's name or the beginning of one, as `remora show -v` and `remora trace list`
    print them, or a node of the newest run (path:qualname or a qualname). A run's name, or
    `last`, means the run's own stream.
    """,
    (list_, show, packet, verify, transcript),
)


def _path(folder: TraceFolder, name: str) -> Path:
    path = folder.agent_stream(name)
    return path if path.exists() else folder.existing_run(name)


def _print_raw(options: Options, folder: TraceFolder, name: str, turn: int | None) -> None:
    path = _path(folder, name)
    recorded = (
        line
        for line, event in zip(read_lines(path), read_events(path), strict=False)
        if turn is None or event.turn == turn
    )
    if options.json:
        emit(options, {"agent_id": name, "lines": [line.decode() for line in recorded]}, ())
        return
    for line in recorded:
        sys.stdout.buffer.write(line + b"\n")


def _listed(streams: list[dict[str, Any]], *, verbose: bool) -> Iterator[str]:
    if not streams:
        yield "no streams yet; `remora analyze` writes them"
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
