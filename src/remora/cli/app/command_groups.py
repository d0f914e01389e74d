"""The groups of commands. Each command is imported on first use."""

from remora.cli.app.lazy_group import LazyGroup

agents = LazyGroup(
    "agents",
    lazy={
        "list": ("agents.definitions:list_", "List the agents, built-in ones first."),
        "show": ("agents.definitions:show", "Show an agent's goal, tools and checks."),
        "validate": ("agents.definitions:validate", "Check agent definitions and their scripts."),
        "new": ("agents.definitions:new", "Create a working example agent."),
    },
    help="""List, check and create agents.

    An agent is a folder with an agent.yaml and .pym scripts. Some are built in; put yours in
    .remora/agents/NAME/. `remora schema agent` prints every key.
    """,
    alone="list",
)
config = LazyGroup(
    "config",
    lazy={"show": ("agents.config_show:show", "Show settings and where their values come from.")},
    help="Show settings and where they come from.",
    alone="show",
)
database = LazyGroup(
    "database",
    lazy={
        "init": ("database_commands:init", "Create the tables and grant a role its rights."),
        "status": ("database_commands:status", "Show the size of the tables by month."),
        "prune": ("database_commands:prune", "Remove old months."),
    },
    help="""Set up and maintain the PostgreSQL database of `trace_store: postgres`.

    The connection string is postgres.dsn in your own configuration file, or
    REMORA_POSTGRES__DSN. See docs/how-to/scale.md.
    """,
)
hub = LazyGroup(
    "hub",
    lazy={
        "start": ("hub.daemon:start", "Start the daemon, or show the running one."),
        "stop": ("hub.daemon:stop", "Stop the daemon."),
        "status": ("hub.daemon:status", "Show the state of the daemon and the size of the index."),
        "index": ("hub.index:index", "Update the index."),
        "get": ("hub.node_commands:get", "Show a node's facts, links and tests."),
        "callers": ("hub.node_commands:callers", "Show the callers of a node."),
        "callees": ("hub.node_commands:callees", "Show the callees of a node."),
        "tests": ("hub.node_commands:tests", "Show which tests exercise a node."),
        "impact": (
            "hub.node_commands:impact",
            "Show what a change concerns, and which tests to run.",
        ),
        "search": ("hub.node_commands:search", "Find nodes by name."),
    },
    help="""Query up-to-date facts about the project's functions, classes and modules.

    NODE is a node key, with or without `node:` (src/a.py:Shop.total), the path of a file (for the
    module), or a unique name (Shop.total, total, shop.a.Shop). The daemon is optional. If it is not
    running, commands check the files themselves.
    """,
    alone="status",
)
model = LazyGroup(
    "model",
    lazy={
        "status": ("agents.model:status", "Show the model, and what it is worth here."),
        "list": ("agents.model:list_", "List the models that can be installed."),
        "pull": ("agents.model:pull", "Download a model's weights."),
    },
    help="""Show the model, or install a small one that runs on the CPU.

    Remora uses the server at model.base_url if it is set, and otherwise the model of `remora model
    list` that is named or installed. It never falls back to another model.
    """,
    alone="status",
)
tools = LazyGroup(
    "tools",
    lazy={
        "list": ("agents.tools:list_", "List the tools of all agents, and the host functions."),
        "check": ("agents.tools:check", "Check the declarations, syntax and types of scripts."),
        "run": ("agents.tools:run", "Run a tool once on a private copy of the project."),
    },
    help="""List, check and run agent tools: .pym scripts that run in a sandbox.

    docs/reference/tools.md explains how to write a tool.
    """,
    alone="list",
)
trace = LazyGroup(
    "trace",
    lazy={
        "list": ("trace.list_streams:list_", "List the streams of agents."),
        "show": ("trace.show:show", "Show events, or one turn with its packet."),
        "why": ("trace.why:why", "Name the cause of an agent's failure."),
        "verify": ("trace.verify:verify", "Verify streams: hashes, packets, prompts, heads."),
        "packet": ("trace.packet:packet", "Print the packet of a turn."),
        "transcript": ("trace.show:transcript", "Print a stream as readable text."),
        "get": ("trace.packet:get", "Print the trace entry for a key."),
        "replay": ("trace.replay:replay", "Rerun recorded scripts, using only the record."),
        "fork": ("trace.fork:fork", "Start a new agent from any turn of another agent."),
        "export": ("trace.export:export", "Export streams for other tools."),
    },
    help="""Read, verify and export traces: the append-only record of every agent and run.

    AGENT is an agent ID, a unique prefix, or a node of the newest run (path:qualname or
    qualname). `remora show -v` and `remora trace list` print agent IDs. A run ID, or `last`,
    selects the stream of the run itself.
    """,
    alone="list",
)
