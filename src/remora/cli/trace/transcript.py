"""The `trace transcript` command, which prints an agent's stream as readable text."""

import json
from itertools import islice

import click

from remora.cli.app.name_parameters import STREAM
from remora.cli.app.options import Options, command
from remora.cli.app.project_context import records_of
from remora.cli.trace.stream_arguments import path_of


@command("transcript", examples=("remora trace transcript total",))
@click.argument("agent", type=STREAM)
def transcript(options: Options, agent: str) -> int:
    """Print an agent's stream as readable text: requests, decisions and results."""
    from remora.cli.trace.event_lines import count_events, json_document
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.read.reader import read_events
    from remora.trace.read.transcript import transcript as transcript_of

    folder = records_of(options)
    name = stream_named(folder, agent)
    path = path_of(folder, name)
    if options.json:
        count = count_events(path)
        with json_document(name, "lines") as write:
            for line in transcript_of(islice(read_events(path), count)):
                write([json.dumps(line)])
        return 0
    for line in transcript_of(read_events(path)):
        click.echo(line)
    return 0
