"""The `trace` commands, each loaded when it is called."""

from remora.cli.app.lazy_group import LazyGroup

_COMMANDS = {
    "list": ("remora.cli.trace.list_streams:list_", "List streams, or the turns that match."),
    "show": ("remora.cli.trace.show:show", "Show events, or one turn with its packet."),
    "packet": ("remora.cli.trace.packet:packet", "Print the packet that a turn was decided on."),
    "diff": ("remora.cli.trace.packet:diff", "Show what changed in the packet between two turns."),
    "transcript": ("remora.cli.trace.transcript:transcript", "Print a stream as readable text."),
    "tail": ("remora.cli.trace.tail:tail", "Show the end of a stream, and follow it."),
    "get": ("remora.cli.trace.index_commands:get", "Print the trace entry under a key."),
    "verify": (
        "remora.cli.trace.verify_anchor:verify",
        "Verify streams: hashes, packets, prompts, heads.",
    ),
    "replay": (
        "remora.cli.trace.replay:replay",
        "Run recorded scripts again, from the record alone.",
    ),
    "anchor": (
        "remora.cli.trace.verify_anchor:anchor",
        "Print the heads of streams, to store elsewhere.",
    ),
    "fork": ("remora.cli.trace.fork:fork", "Start a new agent from any turn of another."),
    "export": ("remora.cli.trace.export:export", "Export streams for other tools."),
    "compact": ("remora.cli.trace.compact:compact", "Compress old streams; remove very old ones."),
    "reindex": ("remora.cli.trace.index_commands:reindex", "Rebuild the index from the streams."),
}
"""By name: `MODULE:ATTRIBUTE`, and the line in the list of commands."""


trace = LazyGroup(
    "trace",
    lazy=_COMMANDS,
    help="""Read, verify and export traces: the append-only record of every agent and run.

    AGENT is an agent ID or a unique prefix, as `remora show -v` and `remora trace list` print
    them, or a node of the newest run (path:qualname or a qualname). A run ID, or `last`, means the
    run's own stream.
    """,
)
