"""The `trace` command group. Each command is imported on first use."""

from remora.cli.app.lazy_group import LazyGroup

_COMMANDS = {
    "list": ("remora.cli.trace.list_streams:list_", "List streams or matching turns."),
    "show": ("remora.cli.trace.show:show", "Show events, or one turn with its packet."),
    "packet": ("remora.cli.trace.packet:packet", "Print the packet of a turn."),
    "diff": ("remora.cli.trace.packet:diff", "Show what changed in the packet between two turns."),
    "why": ("remora.cli.trace.why:why", "Name the cause of an agent's failure."),
    "transcript": ("remora.cli.trace.transcript:transcript", "Print a stream as readable text."),
    "tail": ("remora.cli.trace.tail:tail", "Show the end of a stream, or follow it."),
    "get": ("remora.cli.trace.index_commands:get", "Print the trace entry for a key."),
    "verify": (
        "remora.cli.trace.verify:verify",
        "Verify streams: hashes, packets, prompts, heads.",
    ),
    "replay": (
        "remora.cli.trace.replay:replay",
        "Rerun recorded scripts, using only the record.",
    ),
    "anchor": (
        "remora.cli.trace.anchor:anchor",
        "Print the heads of streams for storage elsewhere.",
    ),
    "fork": ("remora.cli.trace.fork:fork", "Start a new agent from any turn of another agent."),
    "export": ("remora.cli.trace.export:export", "Export streams for other tools."),
    "import": (
        "remora.cli.trace.import_command:import_",
        "Add exported streams to the configured store.",
    ),
    "compact": (
        "remora.cli.trace.compact:compact",
        "Compress old streams and remove very old ones.",
    ),
    "reindex": ("remora.cli.trace.index_commands:reindex", "Rebuild the index from the streams."),
}
"""Commands by name, each with its `MODULE:ATTRIBUTE` and its line in the command list."""


trace = LazyGroup(
    "trace",
    lazy=_COMMANDS,
    help="""Read, verify and export traces: the append-only record of every agent and run.

    AGENT is an agent ID, a unique prefix, or a node of the newest run (path:qualname or
    qualname). `remora show -v` and `remora trace list` print agent IDs. A run ID, or `last`,
    selects the stream of the run itself.
    """,
)
