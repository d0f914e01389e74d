"""The `trace packet` and `trace get` commands, which show packets and results of turns."""

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import print_json
from remora.cli.app.project_context import trace_folder_of


@command("packet", examples=("remora trace packet lint-3f2a --turn 3",))
@click.argument("agent")
@click.option(
    "--turn",
    type=click.IntRange(min=0),
    metavar="N",
    help="Print the packet of this turn. [default: the last turn]",
)
def packet(options: Options, agent: str, *, turn: int | None) -> int:
    """Print the Decision Packet of turn N as JSON, as the model saw it.

    `remora trace show AGENT --turn N` prints the call.
    """
    from remora.memory.packet import packet_json
    from remora.runs.records.name_lookup import stream_named
    from remora.trace.read.agent_turns import packet_at
    from remora.trace.read.reader import read_events
    from remora.trace.read.turn_positions import last_turn

    folder = trace_folder_of(options)
    path = folder.existing_agent(stream_named(folder, agent))
    number = last_turn(path) if turn is None else turn
    print_json(packet_json(packet_at(read_events(path), number)))
    return 0


@command(
    "get", examples=("remora trace get trace:20261120-093000-3f2a1c:lint:node:cart.py:total:2",)
)
@click.argument("key")
def get(options: Options, key: str) -> int:
    """Print the recorded tool result of a key, trace:RUN:OPERATION:NODE:TURN.

    It is the first result of the turn, recorded by the newest agent for that node. Names in a key
    cannot be abbreviated, and NODE has to start with node:.
    """
    import msgspec

    from remora.trace.read.verified_reader import recorded_result

    print_json(msgspec.json.decode(recorded_result(trace_folder_of(options), key)))
    return 0
