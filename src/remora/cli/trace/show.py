"""The `trace show` and `trace transcript` commands, which print a stream."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from remora.cli.app.name_parameters import STREAM
from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, print_json, print_lines
from remora.cli.app.project_context import trace_folder_of

_TURN = click.IntRange(min=0)


@command(
    "show",
    examples=(
        "remora trace show lint-3f2a",
        "remora trace show src/shop/cart.py:total --turn 3",
        "remora trace show lint-3f2a --raw",
    ),
)
@click.argument("agent", type=STREAM)
@click.option("--turn", type=_TURN, metavar="N", help="Show one turn: its packet and raw output.")
@click.option("--raw", is_flag=True, help="Print the recorded lines byte for byte.")
def show(options: Options, agent: str, *, turn: int | None, raw: bool) -> int:
    """Show the events of an agent or a run, one per line.

    With --turn N, show the packet of turn N and the raw output of its tool.
    """
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.read.reader import read_lines
    from remora.trace.read.turn_positions import lines_of_turn

    folder = trace_folder_of(options)
    name = stream_named(folder, agent)
    if raw and turn is not None:
        lines = lines_of_turn(folder.existing_agent(name), turn)
        _print_raw(options, name, (line.raw for line in lines))
    elif raw:
        _print_raw(options, name, read_lines(folder.existing_stream(name)))
    elif turn is not None:
        from remora.cli.views.turn_view import turn_lines
        from remora.runs.records.turn_record import turn_document

        document = turn_document(folder, name, turn)
        emit(options, document, turn_lines(document))
    elif options.json:
        from remora.cli.trace.event_lines import event_json, print_items

        print_items(name, "events", map(event_json, read_lines(folder.existing_stream(name))))
    else:
        _print_listing(folder.existing_stream(name))
    return 0


@command(
    "transcript",
    examples=("remora trace transcript total", "remora trace transcript total --messages"),
)
@click.argument("agent", type=STREAM)
@click.option("--messages", is_flag=True, help="Print chat messages as JSON.")
def transcript(options: Options, agent: str, *, messages: bool) -> int:
    """Print an agent's stream as readable text: requests, decisions and results.

    With --messages, print {"agent_id", "messages"}: the conversation in the form of OpenAI's API,
    with the complete results of tools.
    """
    from remora.cli.trace.event_lines import print_items
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.read.event_summary import transcript as transcript_of
    from remora.trace.read.reader import read_events

    folder = trace_folder_of(options)
    name = stream_named(folder, agent)
    if messages:
        from remora.exports.chat_messages import chat_messages

        events = read_events(folder.existing_agent(name))
        print_json({"agent_id": name, "messages": chat_messages(events, folder.blobs)})
        return 0
    lines = transcript_of(read_events(folder.existing_stream(name)))
    if options.json:
        print_items(name, "lines", map(json.dumps, lines))
    else:
        print_lines(lines)
    return 0


def _print_listing(path: Path) -> None:
    from remora.cli.trace.event_lines import Columns
    from remora.trace.read.reader import read_events

    columns = Columns(path)
    click.echo(columns.head)
    print_lines(map(columns.line, read_events(path)))


def _print_raw(options: Options, name: str, recorded: Iterable[bytes]) -> None:
    from remora.cli.trace.event_lines import print_items, string_json

    if options.json:
        print_items(name, "lines", map(string_json, recorded))
        return
    for line in recorded:
        sys.stdout.buffer.write(line + b"\n")
