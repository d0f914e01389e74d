"""The `trace get` command, which prints the entry of a key."""

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit, print_json
from remora.cli.app.project_context import records_of
from remora.text import escape_line


@command(
    "get",
    examples=(
        "remora trace get index:node:node:src/shop/cart.py:total",
        "remora trace get index:operation:lint --json",
        "remora trace get trace:20261120-093000-3f2a1c:lint:node:cart.py:total:2",
    ),
)
@click.argument("key")
def get(options: Options, key: str) -> int:
    """Print the recorded entry of a key, or the keys of an index.

    trace:RUN:OPERATION:NODE:TURN is the tool result of a turn, recorded by the newest agent for
    that node. Append #2 for a second result of the turn, or @AGENT for another agent.
    index:node:NODE, index:run:RUN and index:operation:NAME list these keys. Names in a key cannot
    be abbreviated, and NODE has to start with node:. `remora trace list --tool NAME -v` prints
    keys.
    """
    from remora.trace.search.stream_search import StreamSearch

    found = StreamSearch(records_of(options)).get(key)
    if isinstance(found, list):
        emit(options, found, map(escape_line, found) if found else ["no entries"])
    else:
        print_json(found)
    return 0
