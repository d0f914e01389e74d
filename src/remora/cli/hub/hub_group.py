"""The Hub's commands: each is loaded when it is called."""

from remora.cli.app.lazy_group import LazyGroup

_COMMANDS = {
    "start": ("remora.cli.hub.daemon:start", "Start the daemon, or join the one that runs."),
    "stop": ("remora.cli.hub.daemon:stop", "Stop the daemon."),
    "status": ("remora.cli.hub.daemon:status", "Show whether the daemon runs, and what it knows."),
    "index": ("remora.cli.hub.index:index", "Bring the index up to date."),
    "get": ("remora.cli.hub.node_commands:get", "Show everything that is known of a node."),
    "callers": ("remora.cli.hub.node_commands:callers", "Show who calls a node."),
    "callees": ("remora.cli.hub.node_commands:callees", "Show what a node calls."),
    "tests": ("remora.cli.hub.node_commands:tests", "Show which tests exercise a node."),
    "search": ("remora.cli.hub.node_commands:search", "Find nodes by name."),
    "observe": ("remora.cli.hub.observe:observe", "Run tests and keep which node called which."),
    "verify": ("remora.cli.hub.index:verify", "Compare the index with the files as they are."),
    "gc": ("remora.cli.hub.index:gc", "Remove what is known of files that are gone."),
}
"""By name: `MODULE:ATTRIBUTE`, and the line in the list of commands."""


hub = LazyGroup(
    "hub",
    lazy=_COMMANDS,
    help="""Facts about every function, class and module of a project that are never stale.

    NODE is a node's key, with or without `node:` (src/a.py:Shop.total), a file's path for its
    module, or a name that one node alone has (Shop.total, total, shop.a.Shop). The daemon is
    optional: without it each command looks at the files itself.
    """,
)
