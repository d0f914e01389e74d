"""The `hub` command group. Each command is imported on first use."""

from remora.cli.app.lazy_group import LazyGroup

_COMMANDS = {
    "start": ("remora.cli.hub.daemon:start", "Start the daemon, or show the running one."),
    "stop": ("remora.cli.hub.daemon:stop", "Stop the daemon."),
    "status": (
        "remora.cli.hub.daemon:status",
        "Show the state of the daemon and the size of the index.",
    ),
    "index": ("remora.cli.hub.index:index", "Update the index."),
    "get": ("remora.cli.hub.node_commands:get", "Show a node's facts, links and tests."),
    "callers": ("remora.cli.hub.node_commands:callers", "Show the callers of a node."),
    "callees": ("remora.cli.hub.node_commands:callees", "Show the callees of a node."),
    "tests": ("remora.cli.hub.node_commands:tests", "Show which tests exercise a node."),
    "search": ("remora.cli.hub.node_commands:search", "Find nodes by name."),
    "observe": ("remora.cli.hub.observe:observe", "Run tests and record calls between nodes."),
    "verify": ("remora.cli.hub.index:verify", "Compare the index with the current files."),
    "gc": ("remora.cli.hub.index:gc", "Remove the entries of deleted files."),
}
"""Commands by name, each with its `MODULE:ATTRIBUTE` and its line in the command list."""


hub = LazyGroup(
    "hub",
    lazy=_COMMANDS,
    help="""Query up-to-date facts about the project's functions, classes and modules.

    NODE is a node key, with or without `node:` (src/a.py:Shop.total), the path of a file (for the
    module), or a unique name (Shop.total, total, shop.a.Shop). The daemon is optional. If it is not
    running, commands check the files themselves.
    """,
)
