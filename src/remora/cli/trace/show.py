"""The `trace show` and `trace transcript` commands, which print a stream."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, plain_lines, print_lines
from remora.cli.app.project_context import trace_folder_of
from remora.text import count, escape_line

_TURN = click.IntRange(min=0)
_LINES = 120
_EMPTY: tuple[Any, ...] = (None, "", [], {})


@command(
    "show",
    examples=(
        "remora trace show lint-3f2a",
        "remora trace show src/shop/cart.py:total --turn 3",
    ),
)
@click.argument("agent")
@click.option("--turn", type=_TURN, metavar="N", help="Show one turn: its packet and raw output.")
def show(options: Options, agent: str, *, turn: int | None) -> int:
    """Show the events of an agent or a run, one per line.

    With --turn N, show the packet of turn N and the raw output of its tool. `remora trace export
    AGENT --format jsonl` prints the recorded lines byte for byte.
    """
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.read.reader import read_lines

    folder = trace_folder_of(options)
    name = stream_named(folder, agent)
    if turn is not None:
        from remora.runs.records.turn_record import turn_document

        document = turn_document(folder, name, turn)
        emit(options, document, _turn_lines(document))
    elif options.json:
        from remora.cli.trace.event_lines import event_json, print_items

        print_items(name, "events", map(event_json, read_lines(folder.existing_stream(name))))
    else:
        _print_listing(folder.existing_stream(name))
    return 0


@command("transcript", examples=("remora trace transcript total",))
@click.argument("agent")
def transcript(options: Options, agent: str) -> int:
    """Print an agent's stream as readable text: requests, decisions and results."""
    from remora.cli.trace.event_lines import print_items
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.read.event_summary import transcript as transcript_of
    from remora.trace.read.reader import read_events

    folder = trace_folder_of(options)
    name = stream_named(folder, agent)
    lines = transcript_of(read_events(folder.existing_stream(name)), folder.blobs)
    if options.json:
        print_items(name, "lines", map(json.dumps, lines))
    else:
        print_lines(lines)
    return 0


def _turn_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the output lines of `trace show --turn N`: the packet, the raw output and the decider."""
    from remora.trace.read.event_summary import decision_line

    yield click.style(f"turn {document['turn']} of {document['agent_id']}", bold=True)
    texts = (decision_line(event["type"], event["data"]) for event in document["events"])
    yield from map(escape_line, filter(None, texts))
    packet, raw = _packet_lines(document), _raw_lines(document["raw_output"])
    yield ""
    yield from packet
    if raw:
        yield ""
        yield from raw


def _packet_lines(document: dict[str, Any]) -> list[str]:
    import msgspec
    import yaml

    packet = {key: value for key, value in document["packet"].items() if value not in _EMPTY}
    tokens = document["prompt_tokens"]
    size = len(msgspec.json.encode(packet))
    asked = f"{count(tokens, 'token')} as sent" if tokens else "no model was used"
    title = f"── packet of this turn: {count(size, 'byte')} of JSON, {asked} ──"
    text = yaml.safe_dump(packet, sort_keys=False, allow_unicode=True, width=100)
    return [click.style(title, fg="cyan"), *_first_lines(text)]


def _raw_lines(raw: Any) -> list[str]:
    import msgspec

    if raw is None:
        return []
    text = raw if isinstance(raw, str) else msgspec.json.format(msgspec.json.encode(raw)).decode()
    title = f"── raw output of the tool: {count(len(text.encode()), 'byte')} ──"
    return [click.style(title, fg="cyan"), *_first_lines(text)]


def _first_lines(text: str) -> Iterator[str]:
    lines = plain_lines(text.rstrip("\n"))
    yield from lines[:_LINES]
    if len(lines) > _LINES:
        yield f"… {count(len(lines) - _LINES, 'more line')}; use --json to show them all"


def _print_listing(path: Path) -> None:
    from remora.cli.trace.event_lines import Columns
    from remora.trace.read.reader import read_events

    columns = Columns(path)
    click.echo(columns.head)
    print_lines(map(columns.line, read_events(path)))
