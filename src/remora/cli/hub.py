"""The Hub's commands: each is loaded when it is called."""

from remora.cli.lazy import LazyGroup

_COMMANDS = {
    "start": ("remora.cli.hub_daemon:start", "Start the daemon, or join the one that runs."),
    "stop": ("remora.cli.hub_daemon:stop", "Stop the daemon."),
    "status": ("remora.cli.hub_daemon:status", "Show whether the daemon runs, and what it knows."),
    "index": ("remora.cli.hub_index:index", "Bring the index up to date."),
    "get": ("remora.cli.hub_look:get", "Show everything that is known of a node."),
    "callers": ("remora.cli.hub_look:callers", "Show who calls a node."),
    "callees": ("remora.cli.hub_look:callees", "Show what a node calls."),
    "tests": ("remora.cli.hub_look:tests", "Show which tests exercise a node."),
    "search": ("remora.cli.hub_look:search", "Find nodes by name."),
    "observe": ("remora.cli.hub_observe:observe", "Run tests and keep which node called which."),
    "verify": ("remora.cli.hub_index:verify", "Compare the index with the files as they are."),
    "gc": ("remora.cli.hub_index:gc", "Remove what is known of files that are gone."),
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
