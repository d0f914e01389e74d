"""The `trace get` command, which prints the entry of a key."""

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import print_json
from remora.cli.app.project_context import records_of


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

    print_json(msgspec.json.decode(recorded_result(records_of(options), key)))
    return 0
