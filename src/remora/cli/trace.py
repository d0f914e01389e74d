"""The Long Track's commands: each is loaded when it is called."""

from remora.cli.lazy import LazyGroup

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
    "replay": (
        "remora.cli.trace_replay:replay",
        "Run recorded scripts again, from the record alone.",
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


trace = LazyGroup(
    "trace",
    lazy=_COMMANDS,
    help="""Look into the Long Track: the append-only record of every agent and every run.

    AGENT is an agent's name or the beginning of one, as `remora show -v` and `remora trace list`
    print them, or a node of the newest run (path:qualname or a qualname). A run's name, or
    `last`, means the run's own stream.
    """,
)
