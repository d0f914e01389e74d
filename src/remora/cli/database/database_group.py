"""The `database` command group. Each command is imported on first use."""

from remora.cli.app.lazy_group import LazyGroup

_COMMANDS = {
    "init": (
        "remora.cli.database.database_commands:init",
        "Create the tables and grant a role its rights.",
    ),
    "status": (
        "remora.cli.database.database_commands:status",
        "Show the size of the tables by month.",
    ),
    "prune": ("remora.cli.database.database_commands:prune", "Remove old months."),
}

database = LazyGroup(
    "database",
    lazy=_COMMANDS,
    help="""Set up and maintain the PostgreSQL database of `trace_store: postgres`.

    The connection string is postgres.dsn in your own configuration file, or
    REMORA_POSTGRES__DSN. See docs/how-to/scale.md.
    """,
)
