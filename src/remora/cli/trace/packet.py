"""The `trace packet`, `diff` and `get` commands, which show packets and results of turns."""

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, print_json
from remora.cli.app.project_context import trace_folder_of

_TURN = click.IntRange(min=0)


@command(
    "packet",
    examples=("remora trace packet lint-3f2a --turn 3", "remora trace packet lint-3f2a --full"),
)
@click.argument("agent")
@click.option(
    "--turn",
    type=_TURN,
    metavar="N",
    help="Print the packet of this turn. [default: the last turn]",
)
@click.option("--full", is_flag=True, help="Show the packet before trimming.")
def packet(options: Options, agent: str, *, turn: int | None, full: bool) -> int:
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
    print_json(packet_json(packet_at(read_events(path), number, shown=not full)))
    return 0


@command(
    "diff",
    examples=(
        "remora trace diff lint-3f2a --from 2 --to 3",
        "remora trace diff src/shop/cart.py:total --from 1 --to 6 --json",
    ),
)
@click.argument("agent")
@click.option("--from", "first", type=_TURN, metavar="N", required=True, help="Earlier turn.")
@click.option("--to", "last", type=_TURN, metavar="M", required=True, help="Later turn.")
@click.option("--full", is_flag=True, help="Compare the packets before trimming.")
def diff(options: Options, agent: str, *, first: int, last: int, full: bool) -> int:
    """Show how the packet changed between the decisions of turn N and turn M.

    With --json, print {"agent_id", "from", "to", "changes": [{"op", "path", "before", "after"}]}.
    op is add, remove or change, and path is a JSON Pointer into the packet.
    """
    import msgspec

    from remora.cli.views.packet_diff_view import change_lines
    from remora.runs.records.name_lookup import stream_named
    from remora.runs.records.packet_diff import packet_changes
    from remora.trace.read.agent_turns import packet_at
    from remora.trace.read.reader import read_events

    folder = trace_folder_of(options)
    name = stream_named(folder, agent)
    path = folder.existing_agent(name)
    before, after = (packet_at(read_events(path), turn, shown=not full) for turn in (first, last))
    changes = packet_changes(before, after)
    document = {"agent_id": name, "from": first, "to": last}
    emit(
        options,
        {**document, "changes": msgspec.to_builtins(changes)},
        change_lines(document, changes),
    )
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
