"""The `trace why` command, which names the cause of an agent's failure."""

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit
from remora.cli.app.project_context import next_command, trace_folder_of


@command(
    "why", examples=("remora trace why lint-3f2a", "remora trace why src/shop/cart.py:total --json")
)
@click.argument("agent")
def why(options: Options, agent: str) -> int:
    """Name the cause of an agent's failure, its turn, and the events that show it.

    The cause is computed from the agent's stream, without a model. The first line is the why line.
    Then follow at most ten lines of evidence, each with its turn and its event, and the command
    that shows the packet of the turn. The exit code is 0 whether the agent failed or not.
    """
    import msgspec

    from remora.cli.views.diagnosis_view import diagnosis_lines
    from remora.runs.diagnosis.why_line import why as why_of
    from remora.runs.records.name_lookup import stream_named

    folder = trace_folder_of(options)
    found = why_of(folder, stream_named(folder, agent))
    look = next_command(
        options, folder.root, "trace", "packet", found.agent_id, "--turn", str(found.look_at)
    )
    emit(options, msgspec.to_builtins(found), diagnosis_lines(found, look))
    return 0
