"""`trace transcript`: an agent's stream as people read it."""

import json
from itertools import islice

import click

from remora.cli.options import Options, command
from remora.cli.session import records_of
from remora.cli.trace_events import document, whole
from remora.cli.trace_records import path_of
from remora.runs.names import stream_named
from remora.trace import read_events
from remora.trace import transcript as transcript_of


@command("transcript", examples=("remora trace transcript total",))
@click.argument("agent")
def transcript(options: Options, agent: str) -> int:
    """Tell an agent's stream as people read it: asked, decided, done."""
    folder = records_of(options)
    name = stream_named(folder, agent)
    path = path_of(folder, name)
    if options.json:
        count = whole(path)
        with document(name, "lines") as write:
            for line in transcript_of(islice(read_events(path), count)):
                write([json.dumps(line)])
        return 0
    for line in transcript_of(read_events(path)):
        click.echo(line)
    return 0
