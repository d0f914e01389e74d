"""The `trace why` command: the cause of an agent's failure, or the change that wrote a line."""

from pathlib import Path

import click

from remora.cli.app.options import Options, command
from remora.cli.app.output import emit
from remora.cli.app.project_context import next_command, recorded_project, trace_folder_of


@command("why", examples=("remora trace why lint-3f2a", "remora trace why src/shop/cart.py:12"))
@click.argument("agent", metavar="AGENT|PATH:LINE")
def why(options: Options, agent: str) -> int:
    """Name the cause of an agent's failure, or the accepted change that wrote a line.

    Of an agent, the first line is the cause, computed from its stream without a model. Then follow
    at most ten lines of evidence, and the command that shows the packet of the turn. The exit code
    is 0 whether the agent failed or not. Of a line, it is 1 if no accepted change wrote it.
    """
    import msgspec

    from remora.cli.views.diagnosis_view import diagnosis_lines, origin_lines
    from remora.hub.lookup.names import line_named
    from remora.runs.diagnosis.why_line import why as why_of
    from remora.runs.records.name_lookup import stream_named

    if line := line_named(agent):
        from remora.runs.diagnosis.line_origin import line_origin
        from remora.usecases.analyze.prepare_run import path_in_project

        project = recorded_project(options)
        path = path_in_project(project.root, Path(line[0]), Path.cwd())
        origin = line_origin(project, path, line[1])
        agent_id, turn = origin["job"]["agent_id"], origin["turn"]
        packet = [] if turn is None else [("trace", "packet", agent_id, "--turn", str(turn))]
        shown = [*packet, ("trace", "show", agent_id), ("show", origin["run_id"])]
        following = [next_command(options, project.root, *words) for words in shown]
        emit(options, origin, origin_lines(origin, following))
        return 0
    folder = trace_folder_of(options)
    found = why_of(folder, stream_named(folder, agent))
    packet_of = "trace", "packet", found.agent_id, "--turn", str(found.look_at)
    look = next_command(options, folder.root, *packet_of)
    emit(options, msgspec.to_builtins(found), diagnosis_lines(found, look))
    return 0
