"""The Long Track's commands: each is loaded when it is called."""

from importlib import import_module

import click

from remora.cli.options import RemoraGroup

_COMMANDS = {
    "list": ("remora.cli.trace_list:list_", "List agents' streams, or the turns that fit."),
    "show": ("remora.cli.trace_show:show", "Show events, or one turn with its packet."),
    "packet": ("remora.cli.trace_packet:packet", "Print the packet that a turn was decided on."),
    "diff": ("remora.cli.trace_packet:diff", "Show what changed in the packet between two turns."),
    "transcript": ("remora.cli.trace_transcript:transcript", "Tell a stream as people read it."),
    "tail": ("remora.cli.trace_tail:tail", "Show the end of a stream, and follow it."),
    "get": ("remora.cli.trace_keys:get", "Print the trace entry under a key."),
    "verify": (
        "remora.cli.trace_verify:verify",
        "Verify streams: hashes, packets, prompts, heads.",
    ),
    "anchor": (
        "remora.cli.trace_verify:anchor",
        "Print the heads of streams, to be kept elsewhere.",
    ),
    "fork": ("remora.cli.fork:fork", "Begin a new agent from any turn of another one."),
    "export": ("remora.cli.export:export", "Write streams in the forms that other tools read."),
    "compact": ("remora.cli.compact:compact", "Compress old streams, let very old ones go."),
    "reindex": ("remora.cli.trace_keys:reindex", "Build the index again from the streams."),
}
"""By name: `MODULE:ATTRIBUTE`, and the line in the list of commands."""


class _TraceGroup(RemoraGroup):
    """Lists its commands without loading any."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's)
        """In order of use."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (click's)
        """Load it."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """From their lines here: a command's own help may load what is slow to load."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


trace = _TraceGroup(
    "trace",
    help="""Look into the Long Track: the append-only record of every agent and every run.

    AGENT is an agent's name or the beginning of one, as `remora show -v` and `remora trace list`
    print them, or a node of the newest run (path:qualname or a qualname). A run's name, or
    `last`, means the run's own stream.
    """,
)
